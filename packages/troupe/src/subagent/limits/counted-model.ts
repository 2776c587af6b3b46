import type { ModelDelta } from '../../message/model-delta.ts';
import type { ChatModelBase, ModelRequest } from '../../model/chat-model-base.ts';
import { WrapperModel, type RelayOptions } from '../../model/wrappers/wrapper-model.ts';
import { currentTurn } from '../../agent/turn/current-turn.ts';
import type { Budget } from './budget.ts';
import { CountedAnswer } from './counted-answer.ts';
import { isInModelStep } from './delegation-scope.ts';

/** Largest `maxTokens` that every model accepts. A larger one is handed over only if the model has its own. */
const MAX_HANDED_OVER = 4096;
/** Smallest `maxTokens` that every model accepts. */
const MIN_HANDED_OVER = 16;

/**
 * Model of a sub-agent with a budget. A model call inside of a model step is counted by that step; any other
 * is counted here, with its usage, and refused when a limit is used up. With a token limit, the model is told
 * how many tokens are left, and a model call that passes the limit is stopped.
 */
export class CountedModel extends WrapperModel {
  static override readonly className: string = 'CountedModel';

  readonly #budget: Budget;

  constructor(model: ChatModelBase, budget: Budget) {
    // a sub-agent as host passes on its own counted model
    super(model instanceof CountedModel ? model.model : model);
    this.#budget = budget;
  }

  protected override async *relay(
    request: ModelRequest,
    options: RelayOptions,
  ): AsyncGenerator<ModelDelta, void, void> {
    const isCounted = isInModelStep();
    const turn = currentTurn();
    if (!isCounted && turn === undefined) this.#budget.beginStep(true);
    // a step, so that enclosing budgets count the model call too
    else if (!isCounted) await turn?.step({ kind: 'model', name: 'direct model call' }, async () => null);
    const answer = new CountedAnswer(this.#budget.countRunning(), request);
    try {
      const maxTokens = this.#maxTokens(request, answer.begin());
      const limited =
        maxTokens === undefined ? request : { ...request, generation: { ...request.generation, maxTokens } };
      for await (const delta of this.model.stream(limited, options)) {
        answer.count(delta);
        yield delta;
      }
      if (maxTokens !== undefined && answer.isCutAtLimit) throw answer.stop();
    } finally {
      // in a model step, the agent adds the usage of an answer that was not stopped
      const counted = isCounted && !answer.isStopped ? undefined : turn?.addUsage(answer.usage);
      answer.end();
      await counted;
    }
  }

  /** `maxTokens` for the model, so that its answer stays within the limit; undefined to leave the request as it is. */
  #maxTokens({ generation }: ModelRequest, left: number): number | undefined {
    const own = generation?.maxTokens ?? this.generation.maxTokens ?? MAX_HANDED_OVER;
    return left < own ? Math.min(own, Math.max(left, MIN_HANDED_OVER)) : undefined;
  }
}
