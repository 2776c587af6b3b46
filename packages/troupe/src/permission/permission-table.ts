/** What a policy says about a call. */
export type PermissionBehavior = 'allow' | 'ask' | 'deny';

/**
 * How much may be done without asking.
 * `default`: reading. `accept_edits`: also changing files in the working directories. `explore`: reading, and nothing else.
 * `bypass`: everything that is not denied, asked about by a rule, or dangerous. `dont_ask`: nobody is there, so what would be
 * asked is denied.
 */
export type PermissionMode = 'default' | 'accept_edits' | 'explore' | 'bypass' | 'dont_ask';

export const PERMISSION_MODES: readonly PermissionMode[] = [
  'default',
  'accept_edits',
  'explore',
  'bypass',
  'dont_ask',
];

/** What is known about a call, or about one command of it. */
export interface PermissionFacts {
  /** What the strictest rule that holds for it says. */
  readonly rule: PermissionBehavior | 'none';
  /** `edit`: it changes files, all of them in the working directories. */
  readonly kind: 'read' | 'edit' | 'other';
  readonly isDangerous: boolean;
}

export interface PermissionRow {
  /** In words, for the docs. */
  readonly name: string;
  /** The facts for which the row holds; what it doesn't mention may be anything. */
  readonly facts: Partial<PermissionFacts>;
  /** In each mode; `-` leaves it to the next row. In the order of `PERMISSION_MODES`. */
  readonly says: readonly (PermissionBehavior | '-')[];
}

/** The whole of the decision. The first row that holds, and says something in the mode, decides. */
export const PERMISSION_TABLE: readonly PermissionRow[] = [
  { name: 'a rule denies it', facts: { rule: 'deny' }, says: ['deny', 'deny', 'deny', 'deny', 'deny'] },
  { name: 'a rule asks about it', facts: { rule: 'ask' }, says: ['ask', 'ask', 'ask', 'ask', 'deny'] },
  {
    name: 'it reads, and is dangerous',
    facts: { kind: 'read', isDangerous: true },
    says: ['ask', 'ask', 'ask', 'ask', 'deny'],
  },
  { name: 'it is dangerous', facts: { isDangerous: true }, says: ['ask', 'ask', 'deny', 'ask', 'deny'] },
  { name: 'it reads', facts: { kind: 'read' }, says: ['allow', 'allow', 'allow', 'allow', 'allow'] },
  {
    name: 'it edits files in a working directory',
    facts: { kind: 'edit' },
    says: ['-', 'allow', '-', '-', '-'],
  },
  { name: 'a rule allows it', facts: { rule: 'allow' }, says: ['allow', 'allow', '-', 'allow', 'allow'] },
  { name: 'it is not known to be harmless', facts: {}, says: ['ask', 'ask', 'deny', 'allow', 'deny'] },
];

/** What the table says, and by which row. */
export function lookUp(
  mode: PermissionMode,
  facts: PermissionFacts,
): { readonly behavior: PermissionBehavior; readonly row: string } {
  const column = PERMISSION_MODES.indexOf(mode);
  for (const { name, facts: wanted, says } of PERMISSION_TABLE) {
    const behavior = says[column] ?? 'deny';
    if (behavior !== '-' && holds(wanted, facts)) return { behavior, row: name };
  }
  return { behavior: 'deny', row: 'no row holds' };
}

function holds({ rule, kind, isDangerous }: Partial<PermissionFacts>, facts: PermissionFacts): boolean {
  return (
    (rule ?? facts.rule) === facts.rule &&
    (kind ?? facts.kind) === facts.kind &&
    (isDangerous ?? facts.isDangerous) === facts.isDangerous
  );
}

const STRICTNESS: Readonly<Record<PermissionBehavior, number>> = { allow: 0, ask: 1, deny: 2 };

export function isStricter(behavior: PermissionBehavior, than: PermissionBehavior): boolean {
  return STRICTNESS[behavior] > STRICTNESS[than];
}
