export { makeFileTool } from '../file-tools/file-tool.ts';
export { fileTools, type FileToolName, type FileToolsOptions } from '../file-tools/file-tools.ts';
export { fetchPageTool, type FetchPageToolOptions } from './process/fetch-page-tool.ts';
export { javascriptTool, type JavaScriptToolOptions } from './process/javascript-tool.ts';
export type { ProcessLimits } from './process/process-limits.ts';
export type { ProcessToolOptions } from './process/process-options.ts';
export { pythonTool, type PythonToolOptions } from './process/python-tool.ts';
export type { SystemUser } from './process/run-process.ts';
export { shellTool, type ShellToolOptions } from './process/shell-tool.ts';
