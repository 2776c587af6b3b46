/** Names of files and folders that other programs run or obey by themselves, such as hooks and settings of editors. */
const NAMES = new Set(
  [
    '.git .gitmodules .gitattributes .gitconfig .githooks .husky .hg .svn lefthook.yml .lefthook.yml .pre-commit-config.yaml',
    '.vscode .idea .devcontainer .devcontainer.json .exrc .vimrc .nvimrc .nvim.lua .emacs .dir-locals.el .gdbinit .lldbinit',
    '.claude .cursor .codex .agents .gemini .mcp.json .troupe',
    '.envrc mise.toml .mise.toml .tool-versions .npmrc .yarnrc .yarnrc.yml .yarn .pnpmfile.cjs .curlrc .wgetrc .inputrc .ssh .config',
    '.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc',
    '.github .gitlab-ci.yml .circleci node_modules pyvenv.cfg sitecustomize.py usercustomize.py',
  ].flatMap((names) => names.split(' ')),
);
const PATTERN = /\.pth$/;

/** Whether a file or folder of this name runs later without a person starting it. Ignores upper and lower case. */
export function runsLater(name: string): boolean {
  const lower = name.toLowerCase();
  return NAMES.has(lower) || PATTERN.test(lower);
}

/** Whether a folder with these names in it is a git repository or a Python environment, whatever its own name. */
export function isToolFolder(names: ReadonlySet<string>): boolean {
  // `commondir` names another folder with the objects and the settings.
  const isRepository =
    names.has('HEAD') && (names.has('commondir') || (names.has('objects') && names.has('refs')));
  return isRepository || names.has('pyvenv.cfg');
}
