/** Environment variables a child process needs to start and to find its files; none of them holds secrets. */
const SAFE_NAMES: readonly string[] =
  process.platform === 'win32'
    ? [
        'APPDATA',
        'COMSPEC',
        'HOMEDRIVE',
        'HOMEPATH',
        'LOCALAPPDATA',
        'PATH',
        'PATHEXT',
        'PROGRAMDATA',
        'PROGRAMFILES',
        'SYSTEMDRIVE',
        'SYSTEMROOT',
        'TEMP',
        'TMP',
        'USERNAME',
        'USERPROFILE',
        'WINDIR',
      ]
    : ['HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER'];

/** Environment of a child process: the safe variables of this process plus the given ones. */
export function childEnvironment(given: Readonly<Record<string, string>> = {}): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of SAFE_NAMES) {
    const value = process.env[name];
    // Not a shell function, which some shells execute.
    if (value !== undefined && !value.startsWith('()')) env[name] = value;
  }
  return { ...env, ...given };
}
