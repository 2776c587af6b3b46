/** Verdict of a permission policy about a tool call. */
export type PermissionBehavior = 'allow' | 'ask' | 'deny';

/**
 * Actions allowed without approval.
 * `default`: reading. `accept_edits`: also changing files in the working directories. `explore`: only
 * reading. `bypass`: everything except denials and approvals by rules, and dangerous actions. `dont_ask`:
 * nobody can approve, so that approvals become denials.
 */
export type PermissionMode = 'default' | 'accept_edits' | 'explore' | 'bypass' | 'dont_ask';

export const PERMISSION_MODES: readonly PermissionMode[] = [
  'default',
  'accept_edits',
  'explore',
  'bypass',
  'dont_ask',
];

/** Known facts about a tool call or one of its commands. */
export interface PermissionFacts {
  /** Behavior of the strictest matching rule. */
  readonly rule: PermissionBehavior | 'none';
  /** `edit`: changes files, all of them in the working directories. */
  readonly kind: 'read' | 'edit' | 'other';
  readonly isDangerous: boolean;
}

export interface PermissionRow {
  /** Name for reasons and docs. */
  readonly name: string;
  /** Required facts; facts left out may have any value. */
  readonly facts: Partial<PermissionFacts>;
  /** Verdict by mode in the order of `PERMISSION_MODES`; `-` continues with the next row. */
  readonly says: readonly (PermissionBehavior | '-')[];
}

/** The complete decision table. The first matching row with a verdict for the mode decides. */
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

/** Verdict of the table with the name of its row. */
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

/** True if a mode allows nothing that the other mode does not allow, and asks about nothing that it denies. */
export function isNoWider(mode: PermissionMode, than: PermissionMode): boolean {
  return ALL_FACTS.every((facts) => !isStricter(lookUp(than, facts).behavior, lookUp(mode, facts).behavior));
}

/** Every combination of facts. */
const ALL_FACTS: readonly PermissionFacts[] = (['none', 'allow', 'ask', 'deny'] as const).flatMap((rule) =>
  (['read', 'edit', 'other'] as const).flatMap((kind) =>
    [false, true].map((isDangerous) => ({ rule, kind, isDangerous })),
  ),
);

const STRICTNESS: Readonly<Record<PermissionBehavior, number>> = { allow: 0, ask: 1, deny: 2 };

export function isStricter(behavior: PermissionBehavior, than: PermissionBehavior): boolean {
  return STRICTNESS[behavior] > STRICTNESS[than];
}
