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

/** A skill as shown to the model. */
export interface Skill {
  readonly name: string;
  readonly description: string;
  /** Real path of the folder, useful to models with file tools. */
  readonly dir: string;
}

export interface SkillSetOptions {
  /** Toolkit that gets the tool `read_skill` and the tools of skills. */
  readonly toolkit: Toolkit;
  /** Text before the list of skills in the prompt. */
  readonly instruction?: string | undefined;
  /** Text of each skill in the prompt. */
  readonly template?: ((skill: Skill) => string) | undefined;
  /** Maximum bytes of a file to read. @default 256 KiB */
  readonly maxFileBytes?: number | undefined;
  /** Maximum characters of all skill texts. Further skills are only counted. @default 50 000 */
  readonly maxPromptChars?: number | undefined;
}

export interface AddSkillOptions {
  /**
   * Tools of the skill, registered as a tool group with its name. Activated when the model reads the skill.
   */
  readonly tools?: readonly Tool[] | undefined;
}

interface Entry {
  readonly folder: SkillFolder;
  readonly toolNames: readonly string[];
  /** Last logged reason why the skill is unusable. */
  problem: string | undefined;
}

interface ReadInput {
  readonly skill: string;
  readonly path?: string;
}

const READ_SKILL = 'read_skill';
const MAIN_FILE = 'SKILL.md';
const MAX_LISTED = 100;
/** Maximum files open at once. */
const MAX_OPEN_FILES = 8;
/** Markdown at the start of a line: heading, quote, list or code block. */
const MARKUP = /^(?=[#>~`=|<*+_-]|\d+[.)])/;
const INSTRUCTION = `# Skills\nA skill is a folder with instructions and files for a certain kind of task. Before you do such a task, read the skill by calling '${READ_SKILL}', and do as it says.`;

/**
 * Skills of a model: folders with a `SKILL.md`. The prompt lists names and descriptions; the model reads the
 * rest with the tool `read_skill`. Files are read again each time, so that changes apply at once. First file
 * to read in this folder; skill-folder.ts reads files, parse-skill.ts parses `SKILL.md`.
 *
 * Nothing in a folder is executed or imported, and no link leads out of it. Tools of a skill come from the
 * program. Folder `skills`: start here.
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
  /** Last logged number of skills omitted from the prompt. */
  #omitted = 0;

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

  /** Names of the skills in the order of registration. */
  get names(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /**
   * Adds the skill in a folder and returns its name.
   * @throws TroupeError if `SKILL.md` is missing or invalid, or a name is taken; nothing changes then.
   */
  async add(dir: string, { tools = [] }: AddSkillOptions = {}): Promise<string> {
    const folder = await SkillFolder.open(dir, this.#maxFileBytes);
    const { name, description } = await this.#readMain(
      folder,
      `The skill folder '${folder.dir.slice(-200)}'`,
    );
    if (this.#entries.has(name))
      throw new TroupeError('invalid_skill', `There is a skill '${name}' already.`);
    if (!this.#hasReadTool) this.#toolkit.registerToolFunction(this.#readTool);
    try {
      this.#registerTools(name, description, tools);
    } catch (error) {
      this.#removeReadTool();
      throw error;
    }
    this.#entries.set(name, { folder, toolNames: tools.map((one) => one.name), problem: undefined });
    this.#schema = schemaOf(this.names);
    return name;
  }

  /** Removes a skill and its tools. Returns false for an unknown name. */
  remove(name: string): boolean {
    const entry = this.#entries.get(name);
    if (entry === undefined) return false;
    this.#entries.delete(name);
    this.#schema = schemaOf(this.names);
    if (entry.toolNames.length > 0 && this.#toolkit.hasToolGroup(name))
      this.#toolkit.removeToolGroups([name]);
    this.#removeReadTool();
    return true;
  }

  /**
   * Prompt section about all skills; undefined without skills. A skill with a broken file is logged and left
   * out until the file is valid again.
   */
  async getPrompt(): Promise<string | undefined> {
    const entries = [...this.#entries];
    const skills: Skill[] = [];
    for (let first = 0; first < entries.length; first += MAX_OPEN_FILES) {
      const some = entries.slice(first, first + MAX_OPEN_FILES);
      const found = await Promise.all(some.map(([name, entry]) => this.#skillOf(name, entry)));
      skills.push(...found.filter((skill) => skill !== undefined));
    }
    return skills.length === 0 ? undefined : [this.#instruction, ...this.#paragraphs(skills)].join('\n\n');
  }

  /** One paragraph per skill, up to `maxPromptChars`. */
  #paragraphs(skills: readonly Skill[]): readonly string[] {
    const paragraphs: string[] = [];
    let space = this.#maxPromptChars;
    for (const skill of skills) {
      const paragraph = this.#template(skill);
      space -= paragraph.length;
      if (space < 0) break;
      paragraphs.push(paragraph);
    }
    const left = skills.length - paragraphs.length;
    if (left > 0 && left !== this.#omitted)
      getLogger().log(
        'warn',
        `${left} of ${skills.length} skills don't fit into the prompt. Raise maxPromptChars.`,
      );
    this.#omitted = left;
    if (left === 0) return paragraphs;
    return [...paragraphs, `There are ${left} more skills. '${READ_SKILL}' reads them by their names.`];
  }

  /** Appends the prompt section to a system prompt. */
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
    const { instructions } = await this.#readMainOf(name, folder, signal);
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

  /** @param what subject of the error text, which must not show the folder to a model. @throws TroupeError */
  async #readMain(folder: SkillFolder, what: string, signal?: AbortSignal): Promise<SkillText> {
    const text = await folder.readText(MAIN_FILE, signal);
    if (text !== undefined) return parseSkill(text);
    throw new TroupeError(
      'invalid_skill',
      `${what} has no ${MAIN_FILE} of at most ${this.#maxFileBytes} bytes of text.`,
    );
  }

  /** @throws TroupeError also if the file now has another skill name */
  async #readMainOf(name: string, folder: SkillFolder, signal?: AbortSignal): Promise<SkillText> {
    const skill = await this.#readMain(folder, `The skill '${name}'`, signal);
    if (skill.name === name) return skill;
    throw new TroupeError(
      'invalid_skill',
      `The skill '${name}' is named '${skill.name}' now. Remove it and add it anew.`,
    );
  }

  async #skillOf(name: string, entry: Entry): Promise<Skill | undefined> {
    const { folder } = entry;
    try {
      const skill = await this.#readMainOf(name, folder);
      entry.problem = undefined;
      return { name, description: skill.description, dir: folder.dir };
    } catch (error) {
      const problem = messageOf(error);
      if (problem !== entry.problem) getLogger().log('warn', `The skill '${name}' is left out: ${problem}`);
      entry.problem = problem;
      return undefined;
    }
  }

  /** Registers all tools or none. @throws TroupeError */
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

  /** Removes `read_skill` after the last skill. */
  #removeReadTool(): void {
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
