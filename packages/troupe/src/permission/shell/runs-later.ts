/**
 * Names of files and folders that other programs run or obey by themselves, such as hooks and settings of editors, and keys of
 * saved approvals.
 */
const NAMES = new Set(
  [
    '.git git~1 .gitmodules .gitattributes .gitconfig .githooks .husky .hg .svn .jj .bzr lefthook.yml .lefthook.yml .pre-commit-config.yaml',
    '.vscode .idea .zed .fleet .helix .gitpod.yml .devcontainer .devcontainer.json .exrc .vimrc .lvimrc .nvimrc .nvim.lua .emacs .dir-locals.el .gdbinit .lldbinit',
    '.claude .cursor .codex .agents .gemini .windsurf .kiro .opencode opencode.json opencode.jsonc .crush.json .aider.conf.yml .amazonq .augment .continue .junie .qwen .roo .openhands .clinerules .cline .factory .codebuddy .trae .goose .kilocode .rovodev .mcp.json .troupe',
    '.envrc .autoenv .autoenv.zsh mise.toml .mise.toml mise.local.toml .mise.local.toml .mise .tool-versions .npmrc .yarnrc .yarnrc.yml .yarn .pnpmfile.cjs .pnpmfile.mjs .pnp.cjs .pnp.js .pnp.loader.mjs bunfig.toml .cargo .bazelrc rust-toolchain rust-toolchain.toml .bundle .mvn .curlrc .wgetrc .inputrc .ssh .config',
    '.rprofile .renviron .octaverc .irbrc .pryrc .pdbrc .iex.exs .ocamlinit .ghci',
    '.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc',
    '.github .gitea .forgejo .gitlab-ci.yml .circleci .travis.yml .buildkite .woodpecker .drone.yml jenkinsfile node_modules pyvenv.cfg sitecustomize.py usercustomize.py',
  ].flatMap((names) => names.split(' ')),
);
const PATTERN = /\.pth$/;
/** Key of saved approvals: of a folder, of a database, and a temporary file that a killed program left. */
const APPROVAL_KEY = /^(?:.*\.)?approval-key(?:\.\w+\.draft)?$/s;

/** Whether a file or folder of this name runs later without a person starting it. Ignores upper and lower case. */
export function runsLater(name: string): boolean {
  const lower = name.toLowerCase();
  return NAMES.has(lower) || PATTERN.test(lower) || isApprovalKey(name);
}

/** Whether a file of this name is the key of saved approvals. Ignores upper and lower case. */
export function isApprovalKey(name: string): boolean {
  return APPROVAL_KEY.test(name.toLowerCase());
}

/** Whether a folder with these names in it is a git repository or a Python environment, whatever its own name. */
export function isToolFolder(names: ReadonlySet<string>): boolean {
  // `commondir` names another folder with the objects and the settings.
  const isRepository =
    names.has('HEAD') && (names.has('commondir') || (names.has('objects') && names.has('refs')));
  return isRepository || names.has('pyvenv.cfg');
}

/** Whether a path in these folders has the name of a file or folder that runs later. Names around the folders do not count. */
export function isPathOfLaterRun(path: string, folders: readonly string[]): boolean {
  const plain = path.replace(/\/(?:\.?\/)+/g, '/');
  const around = folders.filter((folder) => plain.startsWith(`${folder}/`));
  const longest = Math.max(0, ...around.map((folder) => folder.length));
  return plain.slice(longest).split('/').some(runsLater);
}
