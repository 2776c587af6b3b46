import { ReActAgent, Toolkit, type ChatModelBase } from 'troupe';
import { askUserTool } from 'troupe/ask-user';

import { calculate, currentTime, fileTools } from './tools.ts';

/** Agent of the chat, which may ask the user, with access to the files in a folder. */
export function chatAgent(model: ChatModelBase, folder: string): ReActAgent {
  const toolkit = new Toolkit();
  for (const tool of [calculate, currentTime, ...fileTools(folder), askUserTool()])
    toolkit.registerToolFunction(tool);
  return new ReActAgent({
    name: 'assistant',
    sysPrompt: 'You are a helpful assistant. Use the tools where they help.',
    model,
    toolkit,
    parallelToolCalls: true,
  });
}
