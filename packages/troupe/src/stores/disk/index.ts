export { DiskFileSystem, type DiskFileSystemOptions, type DiskRoot } from './disk-file-system.ts';
export type { Reach } from './folder.ts';
