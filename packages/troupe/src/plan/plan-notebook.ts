import { checkNumber } from '../util/check-number.ts';
import { getLogger } from '../config/run-config.ts';
import { messageOf, StateError, TroupeError } from '../errors.ts';
import { Msg } from '../message/msg.ts';
import { StateModule } from '../state/state-module.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import { describe, isJsonObject, type JsonObject, type JsonValue } from '../util/json.ts';
import { InMemoryPlanStorage } from './in-memory-plan-storage.ts';
import { archivedPlan, archivedPlans, untilStored } from './plan-archive.ts';
import {
  createPlan,
  existing,
  finishPlan,
  finishSubtask,
  recoverPlan,
  reviseCurrentPlan,
  updatePlanInfo,
  updateSubtaskState,
  type Edited,
  type FinalState,
  type NewPlan,
  type ReviseAction,
  type SettableState,
} from './plan-edits.ts';
import { PlanError, refuseIf } from './plan-error.ts';
import { compressionHint, hintsByState, type PlanHints, type PlanToHint } from './plan-hints.ts';
import type { PlanStorageBase } from './plan-storage-base.ts';
import { planTools, type EditContext } from './plan-tools.ts';
import { Plan } from './plan.ts';
import { isPlanId, type WorkWords } from './work-item.ts';

/** Is told the plan after every change; undefined when there is none any more. */
export type PlanChangeHook = (notebook: PlanNotebook, plan: Plan | undefined) => unknown;

export interface PlanNotebookOptions {
  /** How many subtasks a plan may have. @default any number */
  readonly maxSubtasks?: number | undefined;
  /** Whether the model is told to show a plan to the user before it begins with it. @default false */
  readonly needUserConfirm?: boolean | undefined;
  /** What the model is told, as a function, or for some of the five places at which a plan can stand. */
  readonly planToHint?: PlanToHint | Partial<PlanHints> | undefined;
  /** Where plans go that are not current any more. @default in memory, saved with the notebook */
  readonly storage?: PlanStorageBase | undefined;
  /** How long an edit waits for the storage before it is given up. @default 30 seconds */
  readonly storageTimeoutMs?: number | undefined;
}

export interface RegisterPlanToolsOptions {
  /** Puts them in the group `plan_related`, which the model has to activate first. @default false */
  readonly asGroup?: boolean | undefined;
}

export const PLAN_GROUP = 'plan_related';

const STORAGE_TIMEOUT_MS = 30_000;
const CHANGED_MEANWHILE =
  'Somebody else has changed the plan since you saw it, and nothing was done. Look at it again, and call again if that still fits.';

/** The plan as an agent knows it; `latest` in a state that is loaded, `older` for one that was changed since. */
type Told = Plan | undefined | 'latest' | 'older';
type AnyEdit = (current: Plan | undefined) => Edited | Promise<Edited>;

/**
 * The plan of an agent, which the model edits by tools and the program by methods, under the same rules.
 *
 * Edits happen one after the other, each of them whole or not at all. A plan that stops being the current one is
 * archived first, so none is lost. The state is the current plan and, unless it keeps them elsewhere, those of the storage.
 */
export class PlanNotebook extends StateModule {
  static override readonly stateVersion = 2;
  static override readonly stateMigrations = {
    1: (state: JsonObject): JsonObject => ({ ...state, told: {} }),
  };

  readonly maxSubtasks: number;
  readonly storage: PlanStorageBase;
  /** For the model, to be registered in a toolkit. */
  readonly tools: readonly Tool[];
  readonly #needUserConfirm: boolean;
  readonly #storageTimeoutMs: number;
  readonly #planToHint: PlanToHint;
  readonly #hooks = new Map<string, PlanChangeHook>();
  #current: Plan | undefined;
  /** The plan as each agent was last told of it, by the agent's name. */
  #told = new Map<string, Told>();
  /** All edits so far. */
  #edited: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: PlanNotebookOptions = {}) {
    super();
    const { maxSubtasks = Infinity, needUserConfirm = false, planToHint = {}, storage } = options;
    const { storageTimeoutMs = STORAGE_TIMEOUT_MS } = options;
    checkNumber('storageTimeoutMs', storageTimeoutMs, { least: 1 });
    if (maxSubtasks !== Infinity) checkNumber('maxSubtasks', maxSubtasks, { least: 1, whole: true });
    this.maxSubtasks = maxSubtasks;
    this.#needUserConfirm = needUserConfirm;
    this.#storageTimeoutMs = storageTimeoutMs;
    this.storage = storage ?? new InMemoryPlanStorage();
    this.#planToHint = typeof planToHint === 'function' ? planToHint : hintsByState(planToHint);
    this.tools = planTools({
      maxSubtasks,
      edit: (edit, caller) => this.#editByModel(edit, caller),
      recover: (id, caller) => this.#editByModel(this.#recovering(id), caller),
      getHistoricalPlans: () => this.getHistoricalPlans(),
      current: () => this.#current,
    });
    this.registerState('currentPlan', {
      toJson: (plan: Plan | undefined) => plan?.toJSON() ?? null,
      fromJson: (json) => (json === null ? undefined : openPlanFrom(json)),
    });
    this.registerState('told', {
      toJson: (told: ReadonlyMap<string, Told>) =>
        Object.fromEntries(Array.from(told, ([name, plan]) => [name, plan === this.#current])),
      fromJson: toldFrom,
    });
  }

  /** The plan that is being worked on. */
  get currentPlan(): Plan | undefined {
    return this.#current;
  }

  /** For the state. */
  protected set currentPlan(plan: Plan | undefined) {
    this.#current = plan;
  }

  /** For the state: an agent whose edit waits for leave is held to the plan that it has seen, also by another program. */
  protected get told(): ReadonlyMap<string, Told> {
    return new Map(this.#told);
  }

  protected set told(told: ReadonlyMap<string, Told>) {
    this.#told = new Map(
      Array.from(told, ([name, plan]) => [name, plan === 'latest' ? this.#current : plan]),
    );
  }

  /** Makes a plan the current one; the one before it is archived as abandoned. @throws PlanError */
  async createPlan(plan: NewPlan): Promise<Plan> {
    return currentOf(await this.#edit(createPlan(plan, this.maxSubtasks)));
  }

  /** Changes the words of the current plan. @throws PlanError */
  async updatePlanInfo(changes: Partial<WorkWords>): Promise<Plan> {
    return currentOf(await this.#edit(updatePlanInfo(changes)));
  }

  /** Adds a subtask before the one at the index, or as the last one. @throws PlanError */
  async addSubtask(index: number, subtask: WorkWords): Promise<Plan> {
    return this.#revise(index, 'add', subtask);
  }

  /** Puts a subtask in other words. Its id, state and outcome stay. @throws PlanError */
  async reviseSubtask(index: number, changes: Partial<WorkWords>): Promise<Plan> {
    return this.#revise(index, 'revise', changes);
  }

  /** Removes a subtask, but not the only one. @throws PlanError */
  async deleteSubtask(index: number): Promise<Plan> {
    return this.#revise(index, 'delete', undefined);
  }

  /**
   * Sets the state of a subtask; an outcome that it had is gone. One can be started only when all before it are done or
   * abandoned and no other is in progress.
   * @throws PlanError
   */
  async updateSubtaskState(index: number, state: SettableState): Promise<Plan> {
    return currentOf(await this.#edit(updateSubtaskState(index, state)));
  }

  /**
   * Marks a subtask as done, when all before it are done or abandoned. The next one that is to do is started, unless one
   * is in progress.
   * @throws PlanError
   */
  async finishSubtask(index: number, outcome: string): Promise<Plan> {
    return currentOf(await this.#edit(finishSubtask(index, outcome)));
  }

  /** Ends the current plan and archives it. Returns it as it is archived. @throws PlanError */
  async finishPlan(state: FinalState, outcome: string): Promise<Plan> {
    const { archived } = await this.#edit(finishPlan(state, outcome));
    return existing(archived);
  }

  /** The plans that were archived, oldest first, without the one that was recovered and is current. */
  async getHistoricalPlans(): Promise<readonly Plan[]> {
    const plans = await archivedPlans(this.storage);
    return plans.filter(({ id }) => id !== this.#current?.id);
  }

  /**
   * Makes an archived plan the current one, also one that was done: it is open again, with its ids, the states and outcomes of its
   * subtasks, and the outcome that it had. The one that was current is archived as abandoned.
   * @throws PlanError
   */
  async recoverHistoricalPlan(id: string): Promise<Plan> {
    return currentOf(await this.#edit(this.#recovering(id)));
  }

  /**
   * What the model should be told before it thinks; undefined for nothing. One that fails is logged, and says nothing.
   * @param agentName whose model it is: from then on its edits are refused if somebody else has changed the plan since
   */
  async getCurrentHint(agentName?: string): Promise<Msg | undefined> {
    const { maxSubtasks } = this;
    const plan = this.#current;
    if (agentName !== undefined) this.#told.set(agentName, plan);
    try {
      const hint: unknown = await this.#planToHint(plan, {
        maxSubtasks,
        needUserConfirm: this.#needUserConfirm,
      });
      if (hint === undefined || hint === null || hint === '') return undefined;
      if (typeof hint !== 'string') throw new TypeError(`it gave ${describe(hint)}, and no text`);
      return Msg.user(`<system-hint>${hint}</system-hint>`);
    } catch (error) {
      getLogger().log('warn', `planToHint failed: ${messageOf(error)}`);
      return undefined;
    }
  }

  /** What whoever makes the conversation shorter should know of the plan; undefined if there is none. */
  getCompressionHint(): string | undefined {
    return this.#current && compressionHint(this.#current);
  }

  /** Adds the tools to a toolkit: all of them or, if a name is taken, none. @throws TroupeError */
  registerPlanTools(toolkit: Toolkit, { asGroup = false }: RegisterPlanToolsOptions = {}): void {
    const taken = this.tools.find(({ name }) => toolkit.has(name));
    if (taken !== undefined)
      throw new TroupeError(
        'invalid_config',
        `There is a tool '${taken.name}' already. A toolkit can have one plan.`,
      );
    if (asGroup && !toolkit.hasToolGroup(PLAN_GROUP)) {
      const description = 'Making a plan for a request that takes several steps, and working through it.';
      toolkit.createToolGroup(PLAN_GROUP, { description });
    }
    for (const tool of this.tools) toolkit.registerToolFunction(tool, asGroup ? { group: PLAN_GROUP } : {});
  }

  /** Whether a model is offered tools of this notebook there. Where it is not, it should get no hints either. */
  isActiveIn(toolkit: Toolkit): boolean {
    return toolkit.getJsonSchemas().some(({ name }) => {
      const execute = toolkit.get(name)?.execute;
      return this.tools.some((tool) => tool.execute === execute);
    });
  }

  /** Has a function told every change from now on; one of the same name is replaced. It is waited for. What it throws is logged. */
  registerPlanChangeHook(name: string, hook: PlanChangeHook): void {
    if (typeof name !== 'string' || typeof hook !== 'function')
      throw new TroupeError('invalid_hook', 'A plan change hook needs a name, then a function.');
    this.#hooks.set(name, hook);
  }

  /** @throws TroupeError if there is no such hook. */
  removePlanChangeHook(name: string): void {
    if (!this.#hooks.delete(name))
      throw new TroupeError('hook_not_found', `There is no plan change hook '${name}'.`);
  }

  protected override assertStateCanLoad(): void {
    if (this.#waiting > 0)
      throw new StateError('the plan', 'is being edited. Wait for the edits before you load a state.');
  }

  async #revise(index: number, action: ReviseAction, words: Partial<WorkWords> | undefined): Promise<Plan> {
    return currentOf(await this.#edit(reviseCurrentPlan(index, action, words, this.maxSubtasks)));
  }

  #recovering(id: string): AnyEdit {
    return async (current) => {
      if (current !== undefined && id === current.id)
        throw new PlanError(['This plan is the current one already.']);
      const old = isPlanId(id) ? await archivedPlan(this.storage, id) : undefined;
      if (old === undefined) {
        const shown = isPlanId(id) ? `the id '${id}'` : 'such an id';
        throw new PlanError([
          `There is no archived plan with ${shown}. See view_historical_plans for those there are.`,
        ]);
      }
      return recoverPlan(old)(current);
    };
  }

  /** An edit of the plan as the model knows it: what is at an index now may be something else than it was. */
  #editByModel(edit: AnyEdit, { agentName = '', signal }: EditContext): Promise<Edited> {
    const isTold = (): boolean => this.#told.has(agentName);
    return this.#edit(
      (current) => {
        if (isTold() && this.#told.get(agentName) !== current) throw new PlanError([CHANGED_MEANWHILE]);
        return edit(current);
      },
      signal,
      ({ current }) => isTold() && this.#told.set(agentName, current),
    );
  }

  /** One edit at a time. Hooks are told when it is over, so that they can edit as well. */
  async #edit(edit: AnyEdit, signal?: AbortSignal, onEdited?: (edited: Edited) => unknown): Promise<Edited> {
    this.#waiting++;
    const done = this.#edited.then(async () => {
      try {
        const limits = { timeoutMs: this.#storageTimeoutMs, signal };
        const edited = await untilStored(limits, async () => {
          const made = await edit(this.#current);
          if (made.archived !== undefined) await this.storage.addPlan(made.archived);
          return made;
        });
        this.#current = edited.current; // not if nobody has waited for it
        onEdited?.(edited);
        return edited;
      } finally {
        this.#waiting--;
      }
    });
    this.#edited = done.catch(() => {}); // whoever asked for it knows
    const edited = await done;
    await this.#tellHooks(edited.current);
    return edited;
  }

  /** All at once, so that every hook is told all changes in their order, whatever the others do. */
  async #tellHooks(plan: Plan | undefined): Promise<void> {
    const tell = async ([name, hook]: readonly [string, PlanChangeHook]): Promise<void> => {
      try {
        await hook(this, plan);
      } catch (error) {
        getLogger().log('warn', `The plan change hook '${name}' failed: ${messageOf(error)}`);
      }
    };
    await Promise.all([...this.#hooks].map(tell));
  }
}

function openPlanFrom(json: JsonValue): Plan {
  const plan = Plan.from(json);
  refuseIf(plan.isFinished ? ['The current plan can not be finished: such a plan is archived.'] : []);
  return plan;
}

function toldFrom(json: JsonValue): ReadonlyMap<string, Told> {
  if (!isJsonObject(json)) throw new TypeError('it does not say who knows the plan');
  return new Map(
    Object.entries(json).map(([name, isLatest]) => [name, isLatest === true ? 'latest' : 'older']),
  );
}

function currentOf({ current }: Edited): Plan {
  return existing(current);
}
