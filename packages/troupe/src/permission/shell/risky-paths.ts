import { isApprovalKey } from './runs-later.ts';
import { UNKNOWN } from './shell-word.ts';

/**
 * Names of files and folders with keys, or with code or settings of other programs. `*` matches the rest of a
 * name.
 */
const RISKY_NAMES: readonly string[] = [
  '.ssh .gnupg .aws .azure .kube .docker .gcloud .password-store .netrc .npmrc .yarnrc .yarnrc.yml .pypirc .pgpass .my.cnf .dockercfg .terraform.d .bash_history .zsh_history .env .env.* .envrc .env-* .env_*',
  '.git git~1 .git-credentials .gitconfig .gitmodules .gitattributes .hg .svn .husky',
  '.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .xprofile .xinitrc .inputrc .vimrc .vim .emacs .emacs.d .gdbinit .lldbinit .curlrc .wgetrc .tmux.conf .screenrc',
  '.vscode .devcontainer .idea .mcp.json .claude .codex .gemini .cursor .config .pre-commit-config.yaml crontab authorized_keys id_rsa id_dsa id_ecdsa id_ed25519',
  'passwd passwd- shadow shadow- gshadow gshadow- sudoers sudoers.d ld.so.preload',
  'environ kcore mem secrets .vault-token .s3cfg .boto approval-key',
].flatMap((names) => names.split(' '));
const RISKY = RISKY_NAMES.map((name) => ({
  start: name.replace('*', ''),
  isPrefix: name.endsWith('*'),
}));
const IN_ETC = /(?:^|\/)etc\//;
const IN_PROC = /(?:^|\/)proc\//;
/** Names that are risky only in these folders. */
const ONLY_IN: Readonly<Record<string, RegExp>> = {
  passwd: IN_ETC,
  'passwd-': IN_ETC,
  shadow: IN_ETC,
  'shadow-': IN_ETC,
  gshadow: IN_ETC,
  'gshadow-': IN_ETC,
  sudoers: IN_ETC,
  'sudoers.d': IN_ETC,
  crontab: IN_ETC,
  environ: IN_PROC,
  kcore: IN_PROC,
  mem: IN_PROC,
  secrets: /(?:^|\/)run\//,
};
const HARMLESS_DEVICE = /^\/dev\/(?:null|zero|stdin|stdout|stderr|tty|fd\/\d+)$/;
/** Characters that a shell expands: an unknown part, a wildcard, a character set. */
const EXPANDED = new RegExp(`${UNKNOWN}|[*?]|\\[[^\\]]*\\]?`, 'g');
/** Characters that some file systems ignore in names: invisible ones, trailing dots and spaces. */
const IGNORED = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]|(?<=[^. ])[. ]+$/g;
/** Name of a key of saved approvals, alone or after that of its database. */
const KEY_NAME = 'approval-key';
const PLAIN_WORD = /^[\w-]*$/;
const PLAIN_NAMES: ReadonlySet<string> = new Set(RISKY_NAMES.filter((name) => PLAIN_WORD.test(name)));
/** Maximum wildcards in one name. */
const MAX_PARTS = 50;
/** Longer than any valid path. */
const MAX_PATH = 4096;

/**
 * Risk of a path, or of a word with paths such as `--file=a:b`; undefined if none is known. A path with
 * wildcards or unknown parts is risky if it could match a risky name.
 * @param folder folder of relative paths if it is not the usual one; `UNKNOWN` if it is unknown
 */
export function riskOf(text: string, folder?: string): string | undefined {
  if (folder === undefined && PLAIN_WORD.test(text) && !PLAIN_NAMES.has(text.toLowerCase())) return undefined;
  const [open, close] = [text.indexOf('{'), text.lastIndexOf('}')];
  const whole = open < 0 || close < open ? text : text.slice(0, open) + UNKNOWN + text.slice(close + 1);
  const value = /^-\w/.test(text) ? text.slice(2) : ''; // value of an option
  for (const path of new Set([whole, value, ...text.split(/[=:,{}@]/)])) {
    const risk = riskOfPath(path) ?? (folder === undefined ? undefined : riskOfPath(`${folder}/${path}`));
    if (risk !== undefined) return risk;
  }
  return undefined;
}

function riskOfPath(path: string): string | undefined {
  const plain = path.replace(/\/(?:\.?\/)+/g, '/');
  if (plain.startsWith('/dev/') && !HARMLESS_DEVICE.test(plain)) return 'a device';
  for (let start = 0, end = 0; end >= 0; start = end + 1) {
    end = plain.indexOf('/', start);
    const name = riskyName(plain.slice(start, end < 0 ? plain.length : end));
    if (name !== undefined && (ONLY_IN[name] === undefined || mayBeIn(ONLY_IN[name], plain, start)))
      return name;
  }
  return undefined;
}

/** True if the name at this place of a path is in the folder, or if a wildcard or unknown part may be it. */
function mayBeIn(folder: RegExp, path: string, place: number): boolean {
  return folder.test(path) || /[*?[\u0000]/.test(path.slice(0, place));
}

function riskyName(segment: string): string | undefined {
  const name = segment.replace(IGNORED, '').toLowerCase();
  if (name.length < 2) return undefined;
  // Wildcards don't match a leading dot; an unknown part may.
  const canBeHidden = name.startsWith('.') || name.startsWith(UNKNOWN);
  const parts = name.split(EXPANDED);
  if (parts.length === 1) {
    if (isApprovalKey(name)) return KEY_NAME;
    return RISKY.find(({ start, isPrefix }) => (isPrefix ? name.startsWith(start) : name === start))?.start;
  }
  if (parts.length > MAX_PARTS) return "a name that can't be checked";
  if (parts.join('') === '' && !name.startsWith('.')) return undefined; // matches everything
  if (isKeyEnd(parts.at(-1) ?? '')) return KEY_NAME;
  return RISKY.find(({ start }) => (canBeHidden || !start.startsWith('.')) && canMatch(parts, start))?.start;
}

/** Whether a name with this end may be that of a key of saved approvals. */
function isKeyEnd(end: string): boolean {
  return (end !== '' && `.${KEY_NAME}`.endsWith(end)) || isApprovalKey(end);
}

/** True if the name contains the parts in this order, first part at its start and last part at its end. */
function canMatch(parts: readonly string[], name: string): boolean {
  const [first = ''] = parts;
  const last = parts.at(-1) ?? '';
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length)
    return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found < 0 || found + part.length > name.length - last.length) return false;
    at = found + part.length;
  }
  return true;
}

/** True if removing the path would remove a root, a home or a whole working directory. */
export function isWholeTree(text: string, workingDirectories: readonly string[]): boolean {
  if (text.length > MAX_PATH) return true;
  const path =
    text
      .replace(/\[[^\]]*\]/g, '*')
      .replace(/\/+/g, '/')
      .replace(/(?:\/\.?)+$/, '') || (text.startsWith('/') ? '/' : '.');
  const base = path.replace(/\/[*?{},]+$/, '') || '/';
  if (/(?:^|\/)\.\.(?:\/|$)/.test(path) || /^[.*?]+$/.test(path)) return true;
  if (/^\.?\/?$|^~[^/]*$/.test(base)) return true;
  if (/^\/[^/]*$|^\/(?:home|Users)\/[^/]+$/.test(base)) return true;
  return workingDirectories.some((folder) => folder === base || folder.startsWith(`${base}/`));
}

/**
 * True if the path as written is inside one of the folders. Does not access the file system, so links are not
 * resolved.
 * @param base folder of relative paths; undefined if unknown
 */
export function isInside(text: string, folders: readonly string[], base: string | undefined): boolean {
  if (text.includes(UNKNOWN) || text.startsWith('~') || text.includes('{')) return false;
  const isAbsolute = text.startsWith('/');
  if (!isAbsolute && base === undefined) return false;
  const segments = text.split('/').filter((name) => name !== '' && name !== '.');
  if (segments.some((name) => name === '..' || /^\.[^/]*[*?[]/.test(name))) return false;
  const path = `${isAbsolute ? '' : base}/${segments.join('/')}`;
  return folders.some((folder) => path.startsWith(`${folder}/`) && path.length > folder.length + 1);
}
