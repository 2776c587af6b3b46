import type { ToolResultBlock } from '../message/blocks.ts';
import type { Exchange } from '../message/exchange.ts';
import { Msg } from '../message/msg.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import type { AnySchema } from '../util/schema.ts';
import { AnswerForm } from './answer-form.ts';
import type { EndReason } from '../message/end-reason.ts';
import { FailedCalls } from './failed-calls.ts';
import type { OpenExchange } from '../approval/open-exchange.ts';
import type { CallWork } from './tool-calls.ts';

/** What belongs to one reply. */
export class ReplyWork implements CallWork {
  /** The agent's tools, and the form if the answer is to have a shape. */
  readonly toolkit: Toolkit;
  readonly form: AnswerForm | undefined;
  readonly failedCalls = new FailedCalls();
  /** The ids of what was asked, and said besides. */
  readonly requestIds = new Set<string>();
  /** What this reply has added to memory. */
  readonly said: Msg[] = [];
  readonly saidIds = new Set<string>();
  /** Are told to the model at its next call, and forgotten. */
  readonly hints: string[] = [];
  /** Tools about which nobody is asked any more. */
  readonly grantedTools = new Set<string>();
  readonly results = new Map<string, ToolResultBlock>();
  /** What was thought, until it is known what becomes of it. */
  thought: Msg | undefined;
  open: OpenExchange | undefined;

  /** @throws SchemaError if the wanted shape has no JSON Schema. */
  constructor(tools: Toolkit, wantedShape: AnySchema | undefined) {
    this.form = wantedShape && new AnswerForm(wantedShape);
    this.toolkit = this.form ? tools.withTools(this.form.tool) : tools;
  }

  /** Notes what was added to memory, now or before all that is noted. */
  note(msgs: readonly Msg[], when: 'now' | 'before' = 'now'): void {
    this.said.splice(when === 'now' ? this.said.length : 0, 0, ...msgs);
    for (const { id } of msgs) this.saidIds.add(id);
  }

  /** The answer that an exchange brought: a form that is filled in, or the result of a tool that speaks for itself. */
  answerIn(exchange: Exchange, name: string): { msg: Msg; reason: EndReason } | undefined {
    const metadata = this.form?.read(exchange);
    if (metadata !== undefined) {
      const text = exchange.thought.text || JSON.stringify(metadata);
      return { msg: Msg.assistant(text, { name, metadata }), reason: 'structured' };
    }
    const [call, ...others] = exchange.calls;
    if (call === undefined || others.length > 0 || this.form !== undefined) return undefined;
    const result = exchange.answerTo(call.id);
    if (result?.status !== 'ok' || !this.toolkit.get(call.name)?.returnDirect) return undefined;
    return { msg: Msg.assistant(result.output, { name }), reason: 'finished' };
  }
}
