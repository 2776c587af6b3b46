import { TroupeError } from '../errors.ts';
import { StateModule } from '../state/state-module.ts';
import type { ToolVerdict } from '../toolkit/call/tool-call.ts';
import { canonicalJson } from '../util/canonical-json.ts';
import type { JsonObject, JsonValue } from '../util/json.ts';
import { oneLine } from '../util/text.ts';
import type { PermissionPolicy, PermissionRequest } from './permission-policy.ts';
import {
  compileRule,
  readRule,
  type CompiledRule,
  type PermissionRule,
  type RuleSubject,
  type SavedPermissionRule,
} from './permission-rule.ts';
import {
  isStricter,
  lookUp,
  PERMISSION_MODES,
  type PermissionBehavior,
  type PermissionFacts,
  type PermissionMode,
} from './permission-table.ts';
import { isInside, riskOf } from './shell/risky-paths.ts';
import { findCommands } from './shell/find-commands.ts';
import { judgeCommand } from './shell/judge-command.ts';
import { commandText } from './shell/match-command.ts';
import { suggestRules } from './suggest-rules.ts';

/** What an argument is: a command for a shell, a path that is changed, or one that is read. */
export type ArgumentMeaning = 'command' | 'edit' | 'read';

export interface PermissionRulesOptions {
  /** @default 'default' */
  readonly mode?: PermissionMode | undefined;
  /** They hold for as long as the program runs. They are not saved, and nothing that is loaded removes them. */
  readonly rules?: readonly PermissionRule[] | undefined;
  /** Absolute paths of the folders in which `accept_edits` lets files be changed. Relative paths begin in the first. @default none */
  readonly workingDirectories?: readonly string[] | undefined;
  /** What arguments of tools mean, in addition to those of the tools that come with the library. */
  readonly toolArguments?:
    | { readonly [tool: string]: { readonly [argument: string]: ArgumentMeaning } }
    | undefined;
}

/** More commands than these in one text are not judged: somebody has to look at it. */
const MAX_COMMANDS = 50;
const MAX_LABEL = 80;
const PATH_READ = { path: 'read' } as const;
const PATH_EDITED = { path: 'edit' } as const;
const TOOL_ARGUMENTS: NonNullable<PermissionRulesOptions['toolArguments']> = {
  delete_file: PATH_EDITED,
  edit_file: PATH_EDITED,
  execute_shell_command: { command: 'command' },
  get_file_info: PATH_READ,
  glob: PATH_READ,
  grep: PATH_READ,
  insert_text_file: PATH_EDITED,
  list_directory: PATH_READ,
  read_multiple_files: { paths: 'read' },
  read_text_file: PATH_READ,
  view_text_file: PATH_READ,
  write_file: PATH_EDITED,
  write_text_file: PATH_EDITED,
};

/** A call, or one command of it. */
interface Part extends Pick<RuleSubject, 'argument' | 'command'> {
  /** What it is called in a reason, unless it is a command. */
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
 * Decides about tool calls by a mode, rules, and what is known about tools and commands; `PERMISSION_TABLE` says how. A shell command is
 * taken apart, and its strictest part decides. What is dangerous is asked about, whatever the rules and the mode allow. Nothing is
 * looked up or run for a decision: the same call always gets the same.
 *
 * The mode, and the rules that were added while the program ran, are its state, and so part of that of the agent for which it decides.
 */
export class PermissionRules extends StateModule implements PermissionPolicy {
  /** One may decide for several agents. */
  static override readonly isShared = true;

  readonly workingDirectories: readonly string[];
  readonly #fixed: readonly CompiledRule[];
  readonly #toolArguments: ReadonlyMap<string, { readonly [argument: string]: ArgumentMeaning }>;
  #added: readonly CompiledRule[] = [];
  #mode: PermissionMode = 'default';

  /** @throws TroupeError if an option is wrong. */
  constructor(options: PermissionRulesOptions = {}) {
    super();
    const { mode = 'default', rules = [], workingDirectories = [], toolArguments = {} } = options;
    this.mode = mode;
    this.#fixed = rules.map(compileRule);
    this.workingDirectories = workingDirectories.map(workingDirectory);
    this.#toolArguments = new Map(Object.entries({ ...TOOL_ARGUMENTS, ...toolArguments }));
    this.registerState('mode', { toJson: (value: PermissionMode) => value, fromJson: readMode });
    this.registerState('addedRules', {
      toJson: (rules: readonly SavedPermissionRule[]) =>
        rules as readonly (SavedPermissionRule & JsonValue)[],
      fromJson: readRules,
    });
  }

  get mode(): PermissionMode {
    return this.#mode;
  }

  /** Can be changed at any time; the next decision follows it. */
  set mode(mode: PermissionMode) {
    this.#mode = readMode(mode);
  }

  /** All that hold now. */
  get rules(): readonly PermissionRule[] {
    return [...this.#fixed, ...this.#added].map(({ rule }) => rule);
  }

  /** Those that were added while the program ran. They are saved. */
  get addedRules(): readonly SavedPermissionRule[] {
    return this.#added.map(({ rule }) => rule as SavedPermissionRule);
  }

  set addedRules(rules: readonly SavedPermissionRule[]) {
    this.#added = rules.map((rule) => compileRule(readRule(rule)));
  }

  /** Adds a rule, such as one that was suggested with a pending call. @throws TroupeError if it is none, or has a function. */
  addRule(rule: SavedPermissionRule | JsonObject): void {
    const added = readRule(rule);
    this.removeRule(added);
    this.#added = [...this.#added, compileRule(added)];
  }

  /** Removes a rule that was added. @returns whether it was there */
  removeRule(rule: SavedPermissionRule | JsonObject): boolean {
    const key = canonicalJson(readRule(rule) as SavedPermissionRule & JsonValue);
    const before = this.#added.length;
    this.#added = this.#added.filter(
      ({ rule: one }) => canonicalJson(one as SavedPermissionRule & JsonValue) !== key,
    );
    return this.#added.length < before;
  }

  decide(request: PermissionRequest): ToolVerdict {
    const parts = this.#partsOf(request).map((part) => this.#judge(request, part));
    const asked = parts.filter(({ behavior }) => behavior === 'ask');
    const strictest = strongest(parts.filter(({ behavior }) => behavior === 'deny')) ?? strongest(asked);
    if (strictest === undefined) return { behavior: 'allow' };
    const { behavior, label, command, danger, row, rule } = strictest;
    const name = shortened(command === undefined ? label : commandText(command));
    const reason = `${name}: ${danger !== undefined && rule !== 'deny' ? danger : row}`;
    if (behavior === 'deny') return { behavior, reason };
    const canBeAllowed = asked.every((part) => part.danger === undefined && part.rule === 'none');
    const suggestions = canBeAllowed ? suggestRules(request.call, asked) : [];
    return {
      behavior,
      reason,
      suggestions,
      isAskedEachTime: asked.some((part) => part.danger !== undefined),
    };
  }

  #judge(request: PermissionRequest, part: Part): JudgedPart {
    const rule = this.#strictestRule({ ...part, request, base: this.workingDirectories[0] });
    const facts = { rule, kind: part.kind, isDangerous: part.danger !== undefined };
    return { ...part, ...lookUp(this.#mode, facts), rule };
  }

  #strictestRule(subject: RuleSubject): PermissionFacts['rule'] {
    let strictest: PermissionFacts['rule'] = 'none';
    for (const one of [...this.#fixed, ...this.#added]) {
      const matched = one.match(subject);
      if (matched === 'no') continue;
      const behavior = matched === 'yes' ? one.rule.behavior : 'ask';
      if (strictest === 'none' || isStricter(behavior, strictest)) strictest = behavior;
    }
    return strictest;
  }

  #partsOf({ call, tool }: PermissionRequest): readonly Part[] {
    const meanings = Object.entries(this.#toolArguments.get(call.name) ?? {});
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
      edited.every(({ path }) => path !== undefined && isInside(path, this.workingDirectories, base));
    const isReader = commands.length > 0 || (tool.readOnly === true && tool.sideEffect !== true);
    const kind = isEdit ? 'edit' : isReader && !isEditor ? 'read' : 'other';
    return [...parts, { label: call.name, kind, danger: risk && `it touches ${risk}` }];
  }

  #commandsOf(argument: string, text: JsonValue | undefined): readonly Part[] {
    if (typeof text !== 'string') {
      const danger = text === undefined ? undefined : 'its command is no text';
      return [{ label: argument, kind: 'other', danger, argument }];
    }
    const { commands, problem } = findCommands(text);
    const isMoving = commands.some(({ words }) => /^(?:cd|pushd|popd)$/.test(words[0]?.text ?? ''));
    const place = { workingDirectories: this.workingDirectories, isMoving };
    const isTooMuch = commands.length > MAX_COMMANDS;
    const danger = problem ?? (isTooMuch ? `it has more than ${MAX_COMMANDS} commands` : undefined);
    const parts: Part[] = commands.map((command) => ({
      label: argument,
      argument,
      command,
      // Rules hold for every part. What it does is not asked when it is dangerous anyway.
      ...(isTooMuch ? { kind: 'other' as const, danger } : judgeCommand(command, place)),
    }));
    if (danger !== undefined) parts.push({ label: text, argument, kind: 'other', danger });
    return parts;
  }
}

/** The one that has the most to say for its reason. */
function strongest(parts: readonly JudgedPart[]): JudgedPart | undefined {
  return (
    parts.find(({ rule }) => rule === 'deny') ?? parts.find(({ danger }) => danger !== undefined) ?? parts[0]
  );
}

function shortened(text: string): string {
  const line = oneLine(text.slice(0, MAX_LABEL + 1));
  return line.length > MAX_LABEL ? `${line.slice(0, MAX_LABEL)}…` : line;
}

/** The paths in an argument; undefined for what is none. */
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
  throw new TroupeError('invalid_config', `A permission mode is one of ${PERMISSION_MODES.join(', ')}.`);
}

function readRules(json: JsonValue): readonly SavedPermissionRule[] {
  if (!Array.isArray(json)) throw new TypeError('it is no list');
  return (json as readonly JsonValue[]).map(readRule);
}
