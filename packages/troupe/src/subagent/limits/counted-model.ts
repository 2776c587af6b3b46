import type { ModelDelta } from '../../message/model-delta.ts';
import { addUsage, type Usage } from '../../message/usage.ts';
import type { ChatModelBase, ModelRequest } from '../../model/chat-model-base.ts';
import { WrapperModel, type RelayOptions } from '../../model/wrappers/wrapper-model.ts';
import { currentTurn } from '../../agent/current-turn.ts';
import type { Budget } from './budget.ts';
import { isInModelStep } from './delegation-scope.ts';

/**
 * Model of a sub-agent with a budget. A model call inside of a model step is counted by that step; any other
 * is counted here, with its usage, and refused when a limit is used up.
 */
export class CountedModel extends WrapperModel {
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
    if (isInModelStep()) {
      yield* this.model.stream(request, options);
      return;
    }
    const turn = currentTurn();
    if (turn === undefined) this.#budget.beginStep(true);
    // a step, so that enclosing budgets count the model call too
    else await turn.step({ kind: 'model', name: 'direct model call' }, async () => null);
    let [spent, latest]: (Usage | undefined)[] = [undefined, undefined];
    try {
      for await (const delta of this.model.stream(request, options)) {
        if (delta.type === 'usage') latest = delta.usage;
        if (delta.type === 'reset') [spent, latest] = [addUsage(spent, latest), undefined];
        yield delta;
      }
    } finally {
      await turn?.addUsage(addUsage(spent, latest));
    }
  }
}
