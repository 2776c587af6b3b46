import { isWithin, parentOf, parsePath, TOP, type LogicalPath } from './logical-path.ts';

/** `list` covers names, kinds, sizes and times; `read` and `write` cover contents. */
export type FileOperation = 'list' | 'read' | 'write' | 'delete';

export const FILE_OPERATIONS: readonly FileOperation[] = ['list', 'read', 'write', 'delete'];

/** Allowed operations for a file, or for a folder with all its content. */
export interface FileGrant {
  readonly path: string;
  /** Empty to forbid everything, for example for a folder inside a granted folder. */
  readonly operations: readonly FileOperation[];
}

/** A path alone grants every operation that the outer policy allows. */
export type FileGrantInput = string | FileGrant;

/** Maximum permissions in the three namespaces. No other top folders exist. */
export const ROOTS: readonly Rule[] = [
  rule({ path: '/userinput/', operations: ['list', 'read'] }),
  rule({ path: '/workspace/', operations: FILE_OPERATIONS }),
  rule({ path: '/internal/', operations: ['list', 'read', 'write'] }),
];

/** Grants of a handle without explicit grants. */
export const DEFAULT_GRANTS: readonly FileGrantInput[] = ['/userinput/', '/workspace/'];

/** Files of the program. Left out of all descriptions, also if granted. */
const HIDDEN = parsePath('/internal');

interface Rule {
  readonly path: LogicalPath;
  /** Path as written, with or without trailing slash. */
  readonly shown: string;
  readonly operations: readonly FileOperation[];
}

/**
 * Decides which file operations are allowed. A policy is a list of layers; an operation must be allowed by
 * all layers. Within a layer the grant with the longest path applies, compared by whole segments. Narrowing
 * adds a layer and therefore never allows more.
 */
export class FilePolicy {
  readonly #layers: readonly (readonly Rule[])[];

  /** @param outer policy to narrow; by default the limits of the three namespaces */
  constructor(grants: readonly FileGrantInput[] = DEFAULT_GRANTS, outer?: FilePolicy) {
    this.#layers = [...(outer ? outer.#layers : [ROOTS]), grants.map(rule)];
  }

  allows(operation: FileOperation, path: LogicalPath): boolean {
    return this.#layers.every((layer) => closest(layer, path)?.operations.includes(operation));
  }

  operationsAt(path: LogicalPath): readonly FileOperation[] {
    return FILE_OPERATIONS.filter((operation) => this.allows(operation, path));
  }

  /**
   * Granted paths with their operations, sorted by path. Nested paths only if they differ from the outer
   * path.
   */
  get visible(): readonly FileGrant[] {
    return this.#boundaries.filter(({ operations }) => operations.length > 0);
  }

  /** Visible grants, and nested paths without any allowed operation. */
  get #boundaries(): readonly FileGrant[] {
    const shownBy = new Map(this.#layers.flat().map(({ path, shown }) => [path, shown]));
    return [...shownBy]
      .map(([path, shown]) => ({ location: path, path: shown, operations: this.operationsAt(path) }))
      .filter(({ location, operations }) => {
        const around = location === TOP ? [] : this.operationsAt(parentOf(location));
        return String(around) !== String(operations) && !isWithin(HIDDEN, location);
      })
      .map(({ path, operations }) => ({ path, operations }))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** Grants as Markdown for a model. */
  describe(): string {
    const lines = this.#boundaries.map(
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

/** Grant with the longest path that contains `path`; of equal paths, the last one. */
function closest(rules: readonly Rule[], path: LogicalPath): Rule | undefined {
  let found: Rule | undefined;
  for (const rule of rules) {
    if (isWithin(rule.path, path) && rule.path.length >= (found?.path.length ?? 0)) found = rule;
  }
  return found;
}
