import { isWithin, parentOf, parsePath, TOP, type LogicalPath } from './logical-path.ts';

/** `list` is for names, kinds, sizes and times; `read` and `write` for contents. */
export type FileOperation = 'list' | 'read' | 'write' | 'delete';

export const FILE_OPERATIONS: readonly FileOperation[] = ['list', 'read', 'write', 'delete'];

/** What may be done with a file or a folder and everything in it. */
export interface FileGrant {
  readonly path: string;
  /** None: nothing, e.g. for a folder inside of one that is granted. */
  readonly operations: readonly FileOperation[];
}

/** A path alone stands for every operation, as far as the handle that is narrowed has it. */
export type FileGrantInput = string | FileGrant;

/** The most that any handle may do, by the three namespaces. There are no others. */
export const ROOTS: readonly Rule[] = [
  rule({ path: '/userinput/', operations: ['list', 'read'] }),
  rule({ path: '/workspace/', operations: FILE_OPERATIONS }),
  rule({ path: '/internal/', operations: ['list', 'read', 'write'] }),
];

/** What a handle may do unless grants say otherwise. */
export const DEFAULT_GRANTS: readonly FileGrantInput[] = ['/userinput/', '/workspace/'];

/** The program's own files: never reported, not even to whoever may use them. */
const HIDDEN = parsePath('/internal');

interface Rule {
  readonly path: LogicalPath;
  /** As it was written: with a slash at the end or without. */
  readonly shown: string;
  readonly operations: readonly FileOperation[];
}

/**
 * What may be done where. It is a list of layers, and an operation is allowed if all of them allow it. In a layer the grant with
 * the longest path counts, compared by whole segments. Narrowing adds a layer: so it can never give more.
 */
export class FilePolicy {
  readonly #layers: readonly (readonly Rule[])[];

  /** @param outer what is narrowed; by default what the three namespaces allow */
  constructor(grants: readonly FileGrantInput[] = DEFAULT_GRANTS, outer?: FilePolicy) {
    this.#layers = [...(outer ? outer.#layers : [ROOTS]), grants.map(rule)];
  }

  allows(operation: FileOperation, path: LogicalPath): boolean {
    return this.#layers.every((layer) => closest(layer, path)?.operations.includes(operation));
  }

  operationsAt(path: LogicalPath): readonly FileOperation[] {
    return FILE_OPERATIONS.filter((operation) => this.allows(operation, path));
  }

  /** Where something may be done, and what; a place inside of another only if it differs. Sorted by path. */
  get visible(): readonly FileGrant[] {
    return this.#places.filter(({ operations }) => operations.length > 0);
  }

  /** Those, and where nothing may be done inside of them. */
  get #places(): readonly FileGrant[] {
    const shownBy = new Map(this.#layers.flat().map(({ path, shown }) => [path, shown]));
    return [...shownBy]
      .map(([path, shown]) => ({ place: path, path: shown, operations: this.operationsAt(path) }))
      .filter(({ place, operations }) => {
        const around = place === TOP ? [] : this.operationsAt(parentOf(place));
        return String(around) !== String(operations) && !isWithin(HIDDEN, place);
      })
      .map(({ path, operations }) => ({ path, operations }))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** The same as Markdown, for a model. */
  describe(): string {
    const lines = this.#places.map(
      ({ path, operations }) => `- \`${path}\`: ${operations.join(', ') || 'nothing'}`,
    );
    if (lines.length === 0) return 'You can use no files.';
    return [
      ...lines,
      '',
      'Where two of these apply, the longer path counts. No other files can be used.',
    ].join('\n');
  }
}

function rule(grant: FileGrantInput): Rule {
  const { path: text, operations } =
    typeof grant === 'string' ? { path: grant, operations: FILE_OPERATIONS } : grant;
  const path = parsePath(text);
  const hasSlash = path !== TOP && text.endsWith('/');
  return { path, shown: hasSlash ? `${path}/` : path, operations: [...operations] };
}

/** The rule with the longest path that holds for a path; of two for the same path, the later. */
function closest(rules: readonly Rule[], path: LogicalPath): Rule | undefined {
  let found: Rule | undefined;
  for (const rule of rules) {
    if (isWithin(rule.path, path) && rule.path.length >= (found?.path.length ?? 0)) found = rule;
  }
  return found;
}
