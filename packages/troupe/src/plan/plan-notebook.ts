import { checkNumber } from '../util/check-number.ts';
import { getLogger } from '../config/run-config.ts';
import { messageOf, StateError, TroupeError } from '../errors.ts';
import { programMsg, type Msg } from '../message/msg.ts';
import { StateModule } from '../state/state-module.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import { describe, isJsonObject, type JsonObject, type JsonValue } from '../util/json.ts';
import { InMemoryPlanStorage } from './in-memory-plan-storage.ts';
import { loadArchivedPlan, listArchivedPlans, untilStored } from './plan-archive.ts';
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
import { compressionHint, hintsByState, type PlanHintsByState, type PlanToHint } from './plan-hints.ts';
import type { PlanStorageBase } from './plan-storage-base.ts';
import { planTools, type EditContext } from './plan-tools.ts';
import { Plan } from './plan.ts';
import { isPlanId, type WorkWords } from './work-item.ts';
import { escapeTags } from '../util/escape-tags.ts';

/** Called with the plan after every change; undefined if there is no current plan. */
export type PlanChangeHook = (notebook: PlanNotebook, plan: Plan | undefined) => unknown;

export interface PlanNotebookOptions {
  /** Maximum subtasks of a plan. @default unlimited */
  readonly maxSubtasks?: number | undefined;
  /** Instructs the model to show a plan to the user before starting it. @default false */
  readonly needUserConfirm?: boolean | undefined;
  /** Replaces the hints for the model: one function, or some of the five hints. */
  readonly planToHint?: PlanToHint | Partial<PlanHintsByState> | undefined;
  /** Storage of archived plans. @default in memory, saved with the notebook */
  readonly storage?: PlanStorageBase | undefined;
  /** Maximum time that an edit waits for the storage, in milliseconds. @default 30 seconds */
  readonly storageTimeoutMs?: number | undefined;
}

export interface RegisterPlanToolsOptions {
  /** Registers the tools in the group `plan_related`, which the model has to activate. @default false */
  readonly asGroup?: boolean | undefined;
}

export const PLAN_GROUP = 'plan_related';

const STORAGE_TIMEOUT_MS = 30_000;
const CHANGED_MEANWHILE =
  'Somebody else has changed the plan since you saw it, and nothing was changed by this tool call. Look at the plan again, and repeat the tool call if it still fits.';

/** Plan that an agent has seen; in a loaded state `latest` for the current plan and `older` for another. */
type SeenPlan = Plan | undefined | 'latest' | 'older';
type AnyEdit = (current: Plan | undefined) => Edited | Promise<Edited>;

/**
 * Plan of an agent. Folder `plan`: start here. Edited by the model with tools (plan-tools.ts)
 * and by the program with methods, under the same rules (plan-edits.ts).
 *
 * Edits run one after the other, each complete or without effect. The previous plan is archived before a new
 * one becomes current. The saved state contains the current plan, and the archived plans of the default
 * storage.
 *
 * @example
 * ```ts
 * import { PlanNotebook, ReActAgent } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const planNotebook = new PlanNotebook({ maxSubtasks: 10 });
 * planNotebook.registerPlanChangeHook('show', (_, plan) => console.log(plan?.toMarkdown() ?? 'no plan'));
 * const agent = new ReActAgent({ name: 'Friday', model: new OfflineModel(), planNotebook });
 * console.log(agent.toolkit.has('create_plan')); // true
 * ```
 */
export class PlanNotebook extends StateModule {
  static override readonly componentName: string = 'planNotebook';

  static override readonly stateVersion = 2;
  static override readonly stateMigrations = {
    1: (state: JsonObject): JsonObject => ({ ...state, told: {} }),
  };

  readonly maxSubtasks: number;
  readonly storage: PlanStorageBase;
  /** Tools for the model, to be registered in a toolkit. */
  readonly tools: readonly Tool[];
  readonly #needUserConfirm: boolean;
  readonly #storageTimeoutMs: number;
  readonly #planToHint: PlanToHint;
  readonly #hooks = new Map<string, PlanChangeHook>();
  #current: Plan | undefined;
  /** Plan that each agent has seen last, by agent name. */
  #seenPlans = new Map<string, SeenPlan>();
  /** Settles after all edits so far. */
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
      recover: (id, caller) => this.#editByModel(this.#recoverEdit(id), caller),
      getHistoricalPlans: () => this.getHistoricalPlans(),
      current: () => this.#current,
    });
    this.registerState('currentPlan', {
      toJson: (plan: Plan | undefined) => plan?.toJSON() ?? null,
      fromJson: (json) => (json === null ? undefined : openPlanFrom(json)),
    });
    this.registerState('told', {
      toJson: (told: ReadonlyMap<string, SeenPlan>) =>
        Object.fromEntries(Array.from(told, ([name, plan]) => [name, plan === this.#current])),
      fromJson: seenPlansFrom,
    });
  }

  /** The plan in progress. */
  get currentPlan(): Plan | undefined {
    return this.#current;
  }

  /** Saved state. */
  protected set currentPlan(plan: Plan | undefined) {
    this.#current = plan;
  }

  /**
   * Saved state: an edit with a pending approval is checked against the plan seen by the agent, also after a
   * restart.
   */
  protected get told(): ReadonlyMap<string, SeenPlan> {
    return new Map(this.#seenPlans);
  }

  protected set told(told: ReadonlyMap<string, SeenPlan>) {
    this.#seenPlans = new Map(
      Array.from(told, ([name, plan]) => [name, plan === 'latest' ? this.#current : plan]),
    );
  }

  /** Creates a plan and makes it current; archives the previous one as abandoned. @throws PlanError */
  async createPlan(plan: NewPlan): Promise<Plan> {
    return currentOf(await this.#edit(createPlan(plan, this.maxSubtasks)));
  }

  /** Changes name, description or expected outcome of the current plan. @throws PlanError */
  async updatePlanInfo(changes: Partial<WorkWords>): Promise<Plan> {
    return currentOf(await this.#edit(updatePlanInfo(changes)));
  }

  /** Inserts a subtask before the index, or appends it. @throws PlanError */
  async addSubtask(index: number, subtask: WorkWords): Promise<Plan> {
    return this.#revise(index, 'add', subtask);
  }

  /** Changes the description of a subtask. Its id, state and outcome stay. @throws PlanError */
  async reviseSubtask(index: number, changes: Partial<WorkWords>): Promise<Plan> {
    return this.#revise(index, 'revise', changes);
  }

  /** Removes a subtask; the last remaining one can't be removed. @throws PlanError */
  async deleteSubtask(index: number): Promise<Plan> {
    return this.#revise(index, 'delete', undefined);
  }

  /**
   * Sets the state of a subtask and removes its outcome. Starting requires that all previous subtasks are
   * done or abandoned and no other is in progress.
   * @throws PlanError
   */
  async updateSubtaskState(index: number, state: SettableState): Promise<Plan> {
    return currentOf(await this.#edit(updateSubtaskState(index, state)));
  }

  /**
   * Marks a subtask as done; all previous subtasks must be done or abandoned. Starts the next subtask, unless
   * one is in progress.
   * @throws PlanError
   */
  async finishSubtask(index: number, outcome: string): Promise<Plan> {
    return currentOf(await this.#edit(finishSubtask(index, outcome)));
  }

  /** Finishes the current plan, archives it and returns the archived plan. @throws PlanError */
  async finishPlan(state: FinalState, outcome: string): Promise<Plan> {
    const { archived } = await this.#edit(finishPlan(state, outcome));
    return existing(archived);
  }

  /** Archived plans, oldest first, without the current plan if it was recovered. */
  async getHistoricalPlans(): Promise<readonly Plan[]> {
    const plans = await listArchivedPlans(this.storage);
    return plans.filter(({ id }) => id !== this.#current?.id);
  }

  /**
   * Reopens an archived plan, also a finished one, and makes it current. Ids, states of subtasks and outcomes
   * stay. Archives the previous current plan as abandoned.
   * @throws PlanError
   */
  async recoverHistoricalPlan(id: string): Promise<Plan> {
    return currentOf(await this.#edit(this.#recoverEdit(id)));
  }

  /**
   * Hint for the next model call; undefined for none. Logs a failing `planToHint` and returns undefined.
   * @param agentName agent that sees the plan; its later edits are refused if the plan has changed since
   */
  async getCurrentHint(agentName?: string): Promise<Msg | undefined> {
    const { maxSubtasks } = this;
    const plan = this.#current;
    if (agentName !== undefined) this.#seenPlans.set(agentName, plan);
    try {
      const hint: unknown = await this.#planToHint(plan, {
        maxSubtasks,
        needUserConfirm: this.#needUserConfirm,
      });
      if (hint === undefined || hint === null || hint === '') return undefined;
      if (typeof hint !== 'string') throw new TypeError(`the hint must be a text, not ${describe(hint)}`);
      return programMsg(`<system-hint>${escapeTags(hint)}</system-hint>`);
    } catch (error) {
      getLogger().log('warn', `planToHint failed: ${messageOf(error)}`);
      return undefined;
    }
  }

  /** Summary of the plan for compression; undefined without a plan. */
  getCompressionHint(): string | undefined {
    return this.#current && compressionHint(this.#current);
  }

  /** Registers all tools in a toolkit, or none if a name is taken. @throws TroupeError */
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

  /** True if the toolkit offers tools of this notebook to the model. Otherwise hints are useless. */
  isActiveIn(toolkit: Toolkit): boolean {
    return toolkit.getJsonSchemas().some(({ name }) => {
      const execute = toolkit.get(name)?.execute;
      return this.tools.some((tool) => tool.execute === execute);
    });
  }

  /**
   * Calls a function after every change and waits for it; replaces a hook with the same name. Errors are
   * logged.
   */
  registerPlanChangeHook(name: string, hook: PlanChangeHook): void {
    if (typeof name !== 'string' || typeof hook !== 'function')
      throw new TroupeError('invalid_hook', 'A plan change hook needs a name, then a function.');
    this.#hooks.set(name, hook);
  }

  /** @throws TroupeError if there is no hook with this name. */
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

  #recoverEdit(id: string): AnyEdit {
    return async (current) => {
      if (current !== undefined && id === current.id)
        throw new PlanError(['This plan is the current one already.']);
      const old = isPlanId(id) ? await loadArchivedPlan(this.storage, id) : undefined;
      if (old === undefined) {
        const shown = isPlanId(id) ? `the id '${id}'` : 'such an id';
        throw new PlanError([
          `There is no archived plan with ${shown}. See view_historical_plans for the ids.`,
        ]);
      }
      return recoverPlan(old)(current);
    };
  }

  /**
   * Edit by a model, refused if the plan differs from the plan the model has seen: indexes may have shifted.
   */
  #editByModel(edit: AnyEdit, { agentName = '', signal }: EditContext): Promise<Edited> {
    const hasSeenPlan = (): boolean => this.#seenPlans.has(agentName);
    return this.#edit(
      (current) => {
        if (hasSeenPlan() && this.#seenPlans.get(agentName) !== current)
          throw new PlanError([CHANGED_MEANWHILE]);
        return edit(current);
      },
      signal,
      ({ current }) => hasSeenPlan() && this.#seenPlans.set(agentName, current),
    );
  }

  /** Runs edits one after the other. Hooks run after each edit, so that hooks can edit too. */
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
        this.#current = edited.current; // skipped after a timeout or abort
        onEdited?.(edited);
        return edited;
      } finally {
        this.#waiting--;
      }
    });
    this.#edited = done.catch(() => {}); // the caller gets the error
    const edited = await done;
    await this.#runHooks(edited.current);
    return edited;
  }

  /**
   * Starts all hooks at once, so that every hook gets all changes in order, independent of the other hooks.
   */
  async #runHooks(plan: Plan | undefined): Promise<void> {
    const run = async ([name, hook]: readonly [string, PlanChangeHook]): Promise<void> => {
      try {
        await hook(this, plan);
      } catch (error) {
        getLogger().log('warn', `The plan change hook '${name}' failed: ${messageOf(error)}`);
      }
    };
    await Promise.all([...this.#hooks].map(run));
  }
}

function openPlanFrom(json: JsonValue): Plan {
  const plan = Plan.from(json);
  refuseIf(plan.isFinished ? ['The current plan can not be finished: such a plan is archived.'] : []);
  return plan;
}

function seenPlansFrom(json: JsonValue): ReadonlyMap<string, SeenPlan> {
  if (!isJsonObject(json)) throw new TypeError('the value must be an object');
  return new Map(
    Object.entries(json).map(([name, isLatest]) => [name, isLatest === true ? 'latest' : 'older']),
  );
}

function currentOf({ current }: Edited): Plan {
  return existing(current);
}
