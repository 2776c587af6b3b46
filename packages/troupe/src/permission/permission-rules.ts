import { TroupeError } from '../errors.ts';
import { getLogger } from '../config/run-config.ts';
import { StateModule, type StateSource } from '../state/state-module.ts';
import type { ToolVerdict } from '../toolkit/call/tool-call.ts';
import {
  foreignSourceOf,
  meaningsOf,
  qualifiedName,
  type ArgumentMeaning,
  type MeaningByArgument,
} from '../toolkit/tool/known-tools.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import { canonicalJson } from '../util/canonical-json.ts';
import type { JsonObject, JsonValue } from '../util/json.ts';
import { oneLine } from '../util/text.ts';
import type { PermissionPolicy, PermissionRequest } from './permission-policy.ts';
import {
  compileRule,
  readRule,
  type CompiledRule,
  type ToolRule,
  type RuleSubject,
  type SavedToolRule,
} from './tool-rule.ts';
import {
  isNoWider,
  isStricter,
  lookUp,
  PERMISSION_MODES,
  type PermissionBehavior,
  type PermissionFacts,
  type PermissionMode,
} from './permission-table.ts';
import { isPathOfLaterRun } from './shell/runs-later.ts';
import { isInside, riskOf } from './shell/risky-paths.ts';
import { findCommands } from './shell/find-commands.ts';
import { judgeCommand, locationOf } from './shell/judge-command.ts';
import { commandText } from './shell/match-command.ts';
import { suggestRules } from './suggest-rules.ts';

export interface PermissionRulesOptions {
  /** @default 'default' */
  readonly mode?: PermissionMode | undefined;
  /** Rules for the lifetime of the program. Not saved, and not removed by loading a state. */
  readonly rules?: readonly ToolRule[] | undefined;
  /**
   * Absolute folders in which `accept_edits` allows changes. The first is the base of relative paths.
   * @default none
   */
  readonly workingDirectories?: readonly string[] | undefined;
  /**
   * Meanings of the arguments of the program's own tools, by tool name; of tools from elsewhere by `source/name`. Those of
   * the library's tools are known. Commands run unasked only by a tool with `checkConfinement`.
   */
  readonly toolArguments?:
    | { readonly [tool: string]: { readonly [argument: string]: ArgumentMeaning } }
    | undefined;
}

/** Maximum commands in one text. Longer texts count as dangerous. */
const MAX_COMMANDS = 50;
const MAX_LABEL = 80;
/** A tool call, or a single shell command in a tool call. */
interface Part extends Pick<RuleSubject, 'argument' | 'command'> {
  /** Label in the reason of a verdict; commands are shown as text instead. */
  readonly label: string;
  readonly kind: PermissionFacts['kind'];
  readonly danger: string | undefined;
}

interface JudgedPart extends Part {
  readonly behavior: PermissionBehavior;
  readonly row: string;
  readonly rule: PermissionFacts['rule'];
}

/**
 * Permission policy by mode, rules and knowledge about tools and shell commands; `PERMISSION_TABLE` defines
 * the decision. Folder `permission`: start here.
 *
 * A shell command is split into its parts, and the strictest part decides. Dangerous tool calls never run
 * without an approval, whatever rules and mode allow. Decisions access no files and run nothing, so the same
 * tool call always gets the same verdict. Mode and added rules are saved with the agent.
 *
 * @example
 * ```ts
 * import { PermissionRules, ReActAgent } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const permissionPolicy = new PermissionRules({
 *   rules: [
 *     { tool: 'delete_file', behavior: 'deny' },
 *     { tool: 'execute_shell_command', behavior: 'allow', when: { command: { prefix: 'git status' } } },
 *   ],
 * });
 * const agent = new ReActAgent({ name: 'Friday', model: new OfflineModel(), permissionPolicy });
 * console.log(agent.permissionPolicy === permissionPolicy); // true
 * ```
 */
export class PermissionRules extends StateModule implements PermissionPolicy {
  static override readonly componentName: string = 'permissionRules';

  /** A policy may serve several agents. */
  static override readonly isShared = true;

  readonly workingDirectories: readonly string[];
  readonly #fixed: readonly CompiledRule[];
  readonly #toolArguments: ReadonlyMap<string, MeaningByArgument>;
  #added: readonly CompiledRule[] = [];
  #mode: PermissionMode = 'default';

  /** @throws TroupeError if an option is invalid. */
  constructor(options: PermissionRulesOptions = {}) {
    super();
    const { mode = 'default', rules = [], workingDirectories = [], toolArguments = {} } = options;
    this.mode = mode;
    this.#fixed = rules.map(compileRule);
    this.workingDirectories = workingDirectories.map(workingDirectory);
    this.#toolArguments = new Map(Object.entries(toolArguments));
    this.registerState('mode', {
      toJson: (value: PermissionMode) => value,
      fromJson: (json, source) => this.#modeFrom(json, source),
      grants: () => true,
    });
    this.registerState('addedRules', {
      toJson: (rules: readonly SavedToolRule[]) => rules as readonly (SavedToolRule & JsonValue)[],
      fromJson: (json, source) => this.#rulesFrom(json, source),
    });
  }

  /** The saved mode, unless it is wider than the current one and somebody may have edited the state. */
  #modeFrom(json: JsonValue, { acceptsGrants }: StateSource): PermissionMode {
    const mode = readMode(json);
    if (acceptsGrants || isNoWider(mode, this.#mode)) return mode;
    warn(`The mode '${mode}' of a saved state is wider than '${this.#mode}', which stays`);
    return this.#mode;
  }

  /** The saved rules. If somebody may have edited the state, only those that ask or deny, beside the current ones. */
  #rulesFrom(json: JsonValue, { acceptsGrants }: StateSource): readonly SavedToolRule[] {
    const rules = readRules(json);
    if (acceptsGrants) return rules;
    const current = this.addedRules;
    const known = new Set(current.map(ruleText));
    const added = rules.filter((rule) => !known.has(ruleText(rule)));
    const stricter = added.filter(({ behavior }) => behavior !== 'allow');
    if (stricter.length < added.length)
      warn(`${added.length - stricter.length} rules of a saved state that allow tool calls do not apply`);
    return [...current, ...stricter];
  }

  get mode(): PermissionMode {
    return this.#mode;
  }

  /** Applies from the next decision on. */
  set mode(mode: PermissionMode) {
    this.#mode = readMode(mode);
  }

  /** All current rules. */
  get rules(): readonly ToolRule[] {
    return [...this.#fixed, ...this.#added].map(({ rule }) => rule);
  }

  /** Rules added at run time. Part of the saved state. */
  get addedRules(): readonly SavedToolRule[] {
    return this.#added.map(({ rule }) => rule as SavedToolRule);
  }

  set addedRules(rules: readonly SavedToolRule[]) {
    this.#added = rules.map((rule) => compileRule(readRule(rule)));
  }

  /**
   * Adds a rule, for example a suggestion of a pending tool call.
   * @throws TroupeError if the rule is invalid or has a function.
   */
  addRule(rule: SavedToolRule | JsonObject): void {
    const added = readRule(rule);
    this.removeRule(added);
    this.#added = [...this.#added, compileRule(added)];
  }

  /** Removes an added rule. @returns false for an unknown rule */
  removeRule(rule: SavedToolRule | JsonObject): boolean {
    const key = ruleText(readRule(rule));
    const before = this.#added.length;
    this.#added = this.#added.filter(({ rule: one }) => ruleText(one as SavedToolRule) !== key);
    return this.#added.length < before;
  }

  decide(request: PermissionRequest): ToolVerdict {
    const parts = this.#partsOf(request).map((part) => this.#judge(request, part));
    const asked = parts.filter(({ behavior }) => behavior === 'ask');
    const strictest = strongest(parts.filter(({ behavior }) => behavior === 'deny')) ?? strongest(asked);
    const limits = this.#limitsOf(request, parts);
    if (strictest === undefined) return { behavior: 'allow', ...limits };
    const { behavior, label, command, danger, row, rule } = strictest;
    const name = shortened(command === undefined ? label : commandText(command));
    const reason = `${name}: ${danger !== undefined && rule !== 'deny' ? danger : row}`;
    if (behavior === 'deny') return { behavior, reason };
    const canBeAllowed = asked.every((part) => part.danger === undefined && part.rule === 'none');
    const suggestions = canBeAllowed ? suggestedFor(request, asked) : [];
    return {
      behavior,
      reason,
      suggestions,
      isAskedEachTime: asked.some((part) => part.danger !== undefined),
      // In this mode an approval does not change what programs can do, unless the approval lifts the limits.
      ...(this.#mode === 'explore' && limits.confinement && { confinement: limits.confinement }),
    };
  }

  /** Limits of a tool call that runs programs, unless rules decided about all of its parts. */
  #limitsOf(
    request: PermissionRequest,
    parts: readonly JudgedPart[],
  ): Pick<ToolVerdict, 'confinement' | 'unconfined' | 'suggestions'> {
    const { tool } = request;
    const isCommand = Object.values(this.#meaningsOf(tool)).includes('command');
    if (!(isCommand || tool.checkConfinement !== undefined) || this.#mode === 'bypass') return {};
    const undecided = parts.filter(({ rule }) => rule !== 'allow');
    if (undecided.length === 0 && this.#mode !== 'explore') return {};
    const isEdit = this.#mode === 'accept_edits' && parts.some(({ kind }) => kind === 'edit');
    const profile = this.#mode === 'explore' ? 'explore' : isEdit ? 'accept_edits' : 'default';
    const suggestions = suggestedFor(request, undecided);
    return {
      confinement: { profile, folders: this.workingDirectories },
      unconfined: this.#mode === 'dont_ask' ? 'deny' : 'ask',
      ...(suggestions.length > 0 && { suggestions }),
    };
  }

  /** Meanings of arguments, known by the identity of the tool or told by the program. */
  #meaningsOf(tool: Tool): MeaningByArgument {
    const name = qualifiedName(tool.name, foreignSourceOf(tool));
    return meaningsOf(tool) ?? this.#toolArguments.get(name) ?? {};
  }

  /** A rule that may match makes the verdict stricter, never milder. */
  #judge(request: PermissionRequest, part: Part): JudgedPart {
    const subject = { ...part, request, base: this.workingDirectories[0] };
    const matches = [...this.#fixed, ...this.#added].map((one) => ({
      match: one.match(subject),
      behavior: one.rule.behavior,
    }));
    const judged = (behaviors: readonly PermissionBehavior[]): JudgedPart => {
      const rule = strictestOf(behaviors);
      const facts = { rule, kind: part.kind, isDangerous: part.danger !== undefined };
      return { ...part, ...lookUp(this.#mode, facts), rule };
    };
    const certain = matches.filter(({ match }) => match === 'yes').map(({ behavior }) => behavior);
    const known = judged(certain);
    const possible = matches.some(({ match }) => match === 'maybe') ? judged([...certain, 'ask']) : known;
    return isStricter(known.behavior, possible.behavior) ? known : possible;
  }

  #partsOf({ call, tool }: PermissionRequest): readonly Part[] {
    const meanings = Object.entries(this.#meaningsOf(tool));
    const commands = meanings.filter(([, meaning]) => meaning === 'command');
    const others = meanings.filter(([, meaning]) => meaning !== 'command');
    const parts = commands.flatMap(([argument]) => this.#commandsOf(argument, call.input[argument]));
    if (parts.length > 0 && others.length === 0) return parts;
    const paths = others.flatMap(([argument, meaning]) =>
      textsOf(call.input[argument]).map((path) => ({ path, meaning })),
    );
    const risk = paths.map(({ path }) => (path === undefined ? undefined : riskOf(path))).find(Boolean);
    const edited = paths.filter(({ meaning }) => meaning === 'edit');
    const isEditor = others.some(([, meaning]) => meaning === 'edit');
    const [base] = this.workingDirectories;
    const isEdit =
      edited.length > 0 &&
      edited.every(
        ({ path }) =>
          path !== undefined &&
          isInside(path, this.workingDirectories, base) &&
          !isPathOfLaterRun(path, this.workingDirectories),
      );
    const isReader = commands.length > 0 || (tool.readOnly === true && tool.sideEffect !== true);
    const kind = isEdit ? 'edit' : isReader && !isEditor ? 'read' : 'other';
    return [...parts, { label: call.name, kind, danger: risk && `it touches ${risk}` }];
  }

  #commandsOf(argument: string, text: JsonValue | undefined): readonly Part[] {
    if (typeof text !== 'string') {
      const danger = text === undefined ? undefined : 'its command is not a text';
      return [{ label: argument, kind: 'other', danger, argument }];
    }
    const { commands, problem } = findCommands(text);
    const location = locationOf(commands, this.workingDirectories);
    const hasTooMany = commands.length > MAX_COMMANDS;
    const danger = problem ?? (hasTooMany ? `it has more than ${MAX_COMMANDS} commands` : undefined);
    const parts: Part[] = commands.map((command) => ({
      label: argument,
      argument,
      command,
      // Rules apply to every part; the kind is not needed if there are too many commands.
      ...(hasTooMany ? { kind: 'other' as const, danger } : judgeCommand(command, location)),
    }));
    if (danger !== undefined) parts.push({ label: text, argument, kind: 'other', danger });
    return parts;
  }
}

/** Rules that would allow a tool call of this tool. Rules for a tool from elsewhere are for its source only. */
function suggestedFor(
  { call, tool }: PermissionRequest,
  parts: readonly JudgedPart[],
): readonly JsonObject[] {
  const source = foreignSourceOf(tool);
  return suggestRules(call, parts).map((rule) => (source === undefined ? rule : { ...rule, source }));
}

function ruleText(rule: SavedToolRule): string {
  return canonicalJson(rule as SavedToolRule & JsonValue);
}

function warn(what: string): void {
  getLogger().log('warn', `${what}: it has no valid MAC, so somebody may have edited it.`);
}

/** The strictest of the behaviors of rules; `none` without any. */
function strictestOf(behaviors: readonly PermissionBehavior[]): PermissionFacts['rule'] {
  return behaviors.reduce<PermissionFacts['rule']>(
    (strictest, one) => (strictest === 'none' || isStricter(one, strictest) ? one : strictest),
    'none',
  );
}

/** Part with the most important reason. */
function strongest(parts: readonly JudgedPart[]): JudgedPart | undefined {
  return (
    parts.find(({ rule }) => rule === 'deny') ?? parts.find(({ danger }) => danger !== undefined) ?? parts[0]
  );
}

function shortened(text: string): string {
  const line = oneLine(text.slice(0, MAX_LABEL + 1));
  return line.length > MAX_LABEL ? `${line.slice(0, MAX_LABEL)}…` : line;
}

/** Paths in an argument; undefined for other values. */
function textsOf(value: JsonValue | undefined): readonly (string | undefined)[] {
  if (value === undefined) return [];
  const values = (Array.isArray(value) ? value : [value]) as readonly JsonValue[];
  return values.map((one) => (typeof one === 'string' ? one : undefined));
}

function workingDirectory(path: string): string {
  if (!path.startsWith('/') || path.split('/').some((name) => name === '..' || name === '.'))
    throw new TroupeError(
      'invalid_config',
      `A working directory must be an absolute path, not '${path.slice(0, 200)}'.`,
    );
  return path.replace(/\/+/g, '/').replace(/\/$/, '');
}

function readMode(mode: unknown): PermissionMode {
  const known = PERMISSION_MODES.find((one) => one === mode);
  if (known !== undefined) return known;
  throw new TroupeError('invalid_config', `A permission mode must be one of ${PERMISSION_MODES.join(', ')}.`);
}

function readRules(json: JsonValue): readonly SavedToolRule[] {
  if (!Array.isArray(json)) throw new TypeError('the value is not a list');
  return (json as readonly JsonValue[]).map(readRule);
}
