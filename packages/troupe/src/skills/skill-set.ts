import { normalize } from 'node:path';

import { checkNumber } from '../util/check-number.ts';
import { getLogger } from '../config/run-config.ts';
import { messageOf, TroupeError } from '../errors.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import { copyJsonObject, type JsonObject } from '../util/json.ts';
import type { JsonSchema } from '../util/schema.ts';
import { oneLine } from '../util/text.ts';
import { parseSkill, type SkillText } from './parse-skill.ts';
import { SkillFolder } from './skill-folder.ts';

/** A skill as a model is told about it. */
export interface Skill {
  readonly name: string;
  readonly description: string;
  /** The real path of its folder. A model needs it only if it has other tools that read files. */
  readonly dir: string;
}

export interface SkillSetOptions {
  /** Gets the tool `read_skill`, and the tools that skills bring. */
  readonly toolkit: Toolkit;
  /** What the prompt says before the skills. */
  readonly instruction?: string | undefined;
  /** What the prompt says about each skill. */
  readonly template?: ((skill: Skill) => string) | undefined;
  /** How large a file may be that is read. @default 256 KiB */
  readonly maxFileBytes?: number | undefined;
  /** How much the prompt says about skills. Those that it has no room for are only counted. @default 50 000 */
  readonly maxPromptChars?: number | undefined;
}

export interface AddSkillOptions {
  /** Tools that come with the skill. They are a group of its name, which is activated when the model reads the skill. */
  readonly tools?: readonly Tool[] | undefined;
}

interface Entry {
  readonly folder: SkillFolder;
  readonly toolNames: readonly string[];
  /** Why the skill can't be used now, as it was logged. */
  problem: string | undefined;
}

interface ReadInput {
  readonly skill: string;
  readonly path?: string;
}

const READ_SKILL = 'read_skill';
const MAIN_FILE = 'SKILL.md';
const MAX_LISTED = 100;
/** How many files are open at the same time. */
const READ_AT_ONCE = 8;
/** What would make a heading, a quote, a list or the begin of a block of code of a line. */
const MARKUP = /^(?=[#>~`=|<*+_-]|\d+[.)])/;
const INSTRUCTION = `# Skills\nA skill is a folder with instructions and files for a certain kind of task. Before you do such a task, read the skill by calling '${READ_SKILL}', and do as it says.`;

/**
 * Skills that a model can use: folders with a `SKILL.md`. The model is told what each is good for, and reads the rest when it
 * needs it. Files are read anew each time, so that a change shows at once.
 *
 * Nothing in a folder is run, imported or followed out of it. Tools that belong to a skill are given by the program.
 */
export class SkillSet {
  readonly #toolkit: Toolkit;
  readonly #instruction: string;
  readonly #template: (skill: Skill) => string;
  readonly #maxFileBytes: number;
  readonly #maxPromptChars: number;
  readonly #entries = new Map<string, Entry>();
  readonly #readTool: Tool<ReadInput>;
  #schema: JsonSchema = schemaOf([]);
  /** How many skills the prompt had no room for, as it was logged. */
  #left = 0;

  constructor(options: SkillSetOptions) {
    const { toolkit, instruction = INSTRUCTION, template = paragraphOf } = options;
    const { maxFileBytes = 256 * 1024, maxPromptChars = 50_000 } = options;
    checkNumber('maxFileBytes', maxFileBytes, { least: 1 });
    checkNumber('maxPromptChars', maxPromptChars, { least: 1 });
    this.#toolkit = toolkit;
    this.#instruction = instruction;
    this.#template = template;
    this.#maxFileBytes = maxFileBytes;
    this.#maxPromptChars = maxPromptChars;
    this.#readTool = {
      name: READ_SKILL,
      description: `Reads a skill: its instructions or, by a path, another file of it.`,
      schema: { current: () => this.#schema },
      readOnly: true,
      execute: ({ skill, path = MAIN_FILE }, { signal }) => this.#read(skill, path, signal),
    };
  }

  /** The names of the skills, in the order in which they came. */
  get names(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /**
   * Adds the skill of a folder. Returns its name.
   * @throws TroupeError if there is no valid `SKILL.md`, or a name is taken; then nothing is changed.
   */
  async add(dir: string, { tools = [] }: AddSkillOptions = {}): Promise<string> {
    const folder = await SkillFolder.open(dir, this.#maxFileBytes);
    const { name, description } = await this.#look(folder, `The skill folder '${folder.dir.slice(-200)}'`);
    if (this.#entries.has(name))
      throw new TroupeError('invalid_skill', `There is a skill '${name}' already.`);
    if (!this.#hasReadTool) this.#toolkit.registerToolFunction(this.#readTool);
    try {
      this.#registerTools(name, description, tools);
    } catch (error) {
      this.#forgetReadTool();
      throw error;
    }
    this.#entries.set(name, { folder, toolNames: tools.map((one) => one.name), problem: undefined });
    this.#schema = schemaOf(this.names);
    return name;
  }

  /** Removes a skill and its tools. Returns whether there was such a skill. */
  remove(name: string): boolean {
    const entry = this.#entries.get(name);
    if (entry === undefined) return false;
    this.#entries.delete(name);
    this.#schema = schemaOf(this.names);
    if (entry.toolNames.length > 0 && this.#toolkit.hasToolGroup(name))
      this.#toolkit.removeToolGroups([name]);
    this.#forgetReadTool();
    return true;
  }

  /**
   * What a model should be told about its skills, as they are now; undefined if there are none. One whose file is broken
   * is left out until it is right again, and logged.
   */
  async getPrompt(): Promise<string | undefined> {
    const entries = [...this.#entries];
    const skills: Skill[] = [];
    for (let first = 0; first < entries.length; first += READ_AT_ONCE) {
      const some = entries.slice(first, first + READ_AT_ONCE);
      const seen = await Promise.all(some.map(([name, entry]) => this.#seen(name, entry)));
      skills.push(...seen.filter((skill) => skill !== undefined));
    }
    return skills.length === 0 ? undefined : [this.#instruction, ...this.#told(skills)].join('\n\n');
  }

  /** A paragraph about each skill, as far as there is room. */
  #told(skills: readonly Skill[]): readonly string[] {
    const paragraphs: string[] = [];
    let room = this.#maxPromptChars;
    for (const skill of skills) {
      const paragraph = this.#template(skill);
      room -= paragraph.length;
      if (room < 0) break;
      paragraphs.push(paragraph);
    }
    const left = skills.length - paragraphs.length;
    if (left > 0 && left !== this.#left)
      getLogger().log(
        'warn',
        `The prompt has no room for ${left} of ${skills.length} skills. See maxPromptChars.`,
      );
    this.#left = left;
    if (left === 0) return paragraphs;
    return [...paragraphs, `There are ${left} more skills. '${READ_SKILL}' reads them by their names.`];
  }

  /** A system prompt with what there is to say about the skills at its end. */
  async appendTo(sysPrompt: string): Promise<string> {
    const prompt = await this.getPrompt();
    return prompt === undefined ? sysPrompt : `${sysPrompt}\n\n${prompt}`;
  }

  async #read(name: string, path: string, signal: AbortSignal): Promise<string> {
    const entry = this.#entries.get(name);
    if (entry === undefined) throw new TroupeError('invalid_skill', 'There is no such skill any more.');
    const { folder, toolNames } = entry;
    if (normalize(path) !== MAIN_FILE) {
      return (await folder.readText(path, signal)) ?? this.#noFile(name, path, await folder.list());
    }
    const { instructions } = await this.#lookAs(name, folder, signal);
    const files = (await folder.list()).filter((file) => file !== MAIN_FILE);
    signal.throwIfAborted();
    const hasTools = toolNames.length > 0 && this.#toolkit.hasToolGroup(name);
    if (hasTools) this.#toolkit.updateToolGroups([name], true);
    return [
      instructions,
      ...(files.length === 0
        ? []
        : [`Files of this skill, which '${READ_SKILL}' reads by their path: ${listed(files)}.`]),
      ...(hasTools ? [`Tools of this skill, which you can call now: ${toolNames.join(', ')}.`] : []),
    ].join('\n\n');
  }

  /** @throws TroupeError */
  #noFile(name: string, path: string, files: readonly string[]): never {
    const shown = oneLine(path.slice(0, 64));
    const problem = `There is no file '${shown}' of at most ${this.#maxFileBytes} bytes of text in the skill '${name}'.`;
    throw new TroupeError('invalid_skill', `${problem} There are: ${listed(files)}.`);
  }

  /** @param what how an error calls it: a model need not know where the folder is. @throws TroupeError */
  async #look(folder: SkillFolder, what: string, signal?: AbortSignal): Promise<SkillText> {
    const text = await folder.readText(MAIN_FILE, signal);
    if (text !== undefined) return parseSkill(text);
    throw new TroupeError(
      'invalid_skill',
      `${what} has no ${MAIN_FILE} of at most ${this.#maxFileBytes} bytes of text.`,
    );
  }

  /** @throws TroupeError also if it is another skill meanwhile */
  async #lookAs(name: string, folder: SkillFolder, signal?: AbortSignal): Promise<SkillText> {
    const skill = await this.#look(folder, `The skill '${name}'`, signal);
    if (skill.name === name) return skill;
    throw new TroupeError(
      'invalid_skill',
      `The skill '${name}' is named '${skill.name}' now. Remove it and add it anew.`,
    );
  }

  async #seen(name: string, entry: Entry): Promise<Skill | undefined> {
    const { folder } = entry;
    try {
      const skill = await this.#lookAs(name, folder);
      entry.problem = undefined;
      return { name, description: skill.description, dir: folder.dir };
    } catch (error) {
      const problem = messageOf(error);
      if (problem !== entry.problem) getLogger().log('warn', `The skill '${name}' is left out: ${problem}`);
      entry.problem = problem;
      return undefined;
    }
  }

  /** All or none. @throws TroupeError */
  #registerTools(name: string, description: string, tools: readonly Tool[]): void {
    if (tools.length === 0) return;
    this.#toolkit.createToolGroup(name, { description });
    try {
      for (const one of tools) this.#toolkit.registerToolFunction(one, { group: name });
    } catch (error) {
      this.#toolkit.removeToolGroups([name]);
      throw error;
    }
  }

  /** Without skills there is nothing to read. */
  #forgetReadTool(): void {
    if (this.#entries.size === 0 && this.#hasReadTool) this.#toolkit.removeToolFunction(READ_SKILL);
  }

  get #hasReadTool(): boolean {
    return this.#toolkit.get(READ_SKILL)?.execute === this.#readTool.execute;
  }
}

function paragraphOf({ name, description }: Skill): string {
  return `## ${name}\n${description.replace(MARKUP, '\\')}`;
}

function schemaOf(names: readonly string[]): JsonSchema {
  const schema: JsonObject = {
    type: 'object',
    properties: {
      skill: { enum: names },
      path: { type: 'string', description: `A file in the folder of the skill.`, default: MAIN_FILE },
    },
    required: ['skill'],
    additionalProperties: false,
  };
  return copyJsonObject(schema, 'the schema of read_skill');
}

function listed(files: readonly string[]): string {
  if (files.length === 0) return 'none';
  const rest = files.length - MAX_LISTED;
  return files.slice(0, MAX_LISTED).map(oneLine).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}
