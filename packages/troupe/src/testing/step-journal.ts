import type { Step, StepRunner } from '../event/step.ts';
import { readJson } from '../util/json.ts';

/**
 * Records the results of the steps of one run as JSON, and replays them: the smallest durable engine that keeps the contract of
 * `runStep`. A step without a recorded result runs, and so does every `write`, because each attempt begins with a memory of its own.
 *
 * @example
 * ```ts
 * import { Msg, ReActAgent } from 'troupe';
 * import { ScriptedModel, StepJournal } from 'troupe/testing';
 *
 * const journal = new StepJournal();
 * const input = Msg.user('Hi.');
 * for (const script of [['Hello.'], []]) {
 *   const agent = new ReActAgent({ name: 'ann', model: new ScriptedModel(script) });
 *   const answer = await agent.call(input, { runStep: journal.attempt() });
 *   if (answer.text !== 'Hello.') throw new Error('the second attempt asks no model');
 * }
 * ```
 */
export class StepJournal {
  readonly #results = new Map<string, { readonly step: Step; readonly json: string }>();

  /** Keys of the recorded steps, in the order in which the steps ended. */
  get keys(): readonly string[] {
    return [...this.#results.keys()];
  }

  /** A step runner for one attempt at the run. It rejects a step whose key was used before in the attempt. */
  attempt(): StepRunner {
    const taken = new Set<string>();
    return async (step, body) => {
      const { kind, key } = step;
      if (taken.has(key)) throw new Error(`Two steps of one run share the key ${key}.`);
      taken.add(key);
      const recorded = this.#results.get(key);
      if (recorded !== undefined && recorded.step.kind !== kind)
        throw new Error(
          `The step ${key} was a ${recorded.step.kind} step before, and is a ${kind} step now.`,
        );
      if (recorded !== undefined && kind !== 'write') return readJson(recorded.json) as never;
      const result = await body();
      this.#results.set(key, { step, json: JSON.stringify(result ?? null) });
      return result;
    };
  }
}
