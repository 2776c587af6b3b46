/** Limits that a confined program has: `explore` changes nothing, `default` has a private /tmp, `accept_edits` changes files in folders. */
export type ConfinementProfile = 'explore' | 'default' | 'accept_edits';

/**
 * Limits of a tool call that nobody was asked about: no network, no privileges, no secrets, and no changes outside
 * of these folders. Enforced by the kernel, whatever the program does.
 */
export interface Confinement {
  readonly profile: ConfinementProfile;
  /** Folders that are visible; with `accept_edits` their files can be changed. Folders that do not exist are left out. */
  readonly folders: readonly string[];
}

const PROFILES: readonly unknown[] = ['explore', 'default', 'accept_edits'] satisfies ConfinementProfile[];

/** Whether a policy gave limits that a tool can read. */
export function isConfinement(value: unknown): value is Confinement {
  if (typeof value !== 'object' || value === null || !('profile' in value) || !('folders' in value))
    return false;
  const { profile, folders } = value;
  return (
    PROFILES.includes(profile) &&
    Array.isArray(folders) &&
    folders.every((folder) => typeof folder === 'string')
  );
}
