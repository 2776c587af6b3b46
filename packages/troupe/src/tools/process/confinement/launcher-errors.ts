import { existsSync, readFileSync } from 'node:fs';

/** Why a system can't confine programs, and what a person can do about it. */
export interface ConfinementProblem {
  readonly reason: string;
  readonly remedy: string;
  /** Whether programs were confined earlier in this process. @default false */
  readonly heldBefore?: boolean;
}

const ALLOW_NAMESPACES = 'allow user namespaces for /usr/bin/bwrap';
const INSTALL: ConfinementProblem = {
  reason: 'bubblewrap (bwrap) is not installed',
  remedy: 'install bubblewrap',
};

/** Messages of bwrap, most specific first. */
const MESSAGES: readonly (readonly [RegExp, string, string])[] = [
  [/ENOENT|not found$/, INSTALL.reason, INSTALL.remedy],
  [
    /namespaces? exceeded|No space left on device|max_\w+_namespaces/,
    'user namespaces are switched off, or nested too deep',
    'raise the setting user.max_user_namespaces',
  ],
  [
    /uid map|RTM_NEWADDR/,
    'a policy of the system (AppArmor) restricts user namespaces',
    `install an AppArmor profile, to ${ALLOW_NAMESPACES}`,
  ],
  [
    /namespace.*(?:not permitted|No permissions)|No permissions to create/i,
    'the container or a policy of the system refuses namespaces',
    ALLOW_NAMESPACES,
  ],
  [
    /Resource temporarily unavailable/,
    'the limit of processes outside is reached',
    'raise the limit of processes',
  ],
  [
    /make \/ slave|pivot_root|mount proc/i,
    'the container refuses mounts',
    'allow mounts in user namespaces of the container',
  ],
];

/** Explains why bwrap could not make a sandbox. @param message the error, or the last line that bwrap wrote */
export function launcherProblem(message: string): ConfinementProblem {
  const line = message.trim().split('\n').at(-1)?.slice(0, 200) ?? '';
  const known = MESSAGES.find(([pattern]) => pattern.test(line));
  if (known === undefined)
    return { reason: `bwrap can't make a sandbox here (${line})`, remedy: ALLOW_NAMESPACES };
  const [, reason, remedy] = known;
  return { reason: reason + systemFacts(), remedy };
}

/** Settings of the kernel that prevent sandboxes, as text in brackets. */
function systemFacts(): string {
  const facts = [
    settingIs('user/max_user_namespaces', '0'),
    settingIs('kernel/unprivileged_userns_clone', '0'),
    settingIs('kernel/apparmor_restrict_unprivileged_userns', '1'),
  ].filter((fact) => fact !== undefined);
  return facts.length === 0 ? '' : ` (${facts.join(', ')})`;
}

function settingIs(name: string, wanted: string): string | undefined {
  const file = `/proc/sys/${name}`;
  if (!existsSync(file)) return undefined;
  try {
    return readFileSync(file, 'latin1').trim() === wanted ? `${name.replace('/', '.')}=${wanted}` : undefined;
  } catch {
    return undefined;
  }
}
