import type { StepInit } from '../../event/step.ts';

/**
 * Makes the keys of the steps of one agent call. A key is the path of agent calls down to the step, each by its tool call,
 * agent name and ordinal, then kind, label and ordinal: `call_1/expert#1/model:reasoning#2`. A replayed run makes the same keys
 * in the same places, in whatever order parallel tool calls run, as long as each begins its own steps in order.
 */
export class StepKeys {
  readonly #prefix: string;
  #counts: Map<string, number> | undefined;

  constructor(prefix = '') {
    this.#prefix = prefix;
  }

  /** @param toolCallId the tool call in which the step runs; not looked at if the step has a key of its own */
  next({ kind, name, key }: StepInit, toolCallId: string | undefined): string {
    const place = key === undefined && toolCallId !== undefined ? `${escaped(toolCallId)}/` : '';
    return this.#count(`${place}${kind}:${escaped(key ?? name)}`);
  }

  /** The keys of an agent call made in this one. */
  nested(agentName: string, toolCallId: string | undefined): StepKeys {
    const place = toolCallId === undefined ? '' : `${escaped(toolCallId)}/`;
    return new StepKeys(`${this.#count(`${place}${escaped(agentName)}`)}/`);
  }

  #count(label: string): string {
    const counts = (this.#counts ??= new Map());
    const count = (counts.get(label) ?? 0) + 1;
    counts.set(label, count);
    return `${this.#prefix}${label}#${count}`;
  }
}

/** Escapes the characters that separate the parts of a key. */
function escaped(name: string): string {
  return name.replace(/[%/:#]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
}
