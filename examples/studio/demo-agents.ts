import type { AgentOffer } from '@troupe/studio';
import {
  agentTool,
  AutoContextMemory,
  PermissionRules,
  PlanNotebook,
  ReActAgent,
  tool,
  UserAgent,
  type ChatModelBase,
} from 'troupe';
import { askUserTool } from 'troupe/ask-user';
import { z } from 'zod';

import { calculate, currentTime, fileTools } from '../chat/tools.ts';
import { DemoModel } from './demo-model.ts';
import { DEMO_STORIES } from './demo-script.ts';

/** The demo troupe: an agent with tools, an approval, a plan, a form and a sub-agent. */
export function demoAgent(model: ChatModelBase, folder: string): AgentOffer {
  return {
    name: 'Friday',
    description: 'An agent with tools, a plan, a sub-agent, and actions that ask first.',
    modelName: model.modelName,
    suggestions: DEMO_STORIES.map(({ suggestion }) => suggestion),
    models: [...new Set([model.modelName, 'offline demo'])],
    toolSets: ['all tools', 'no tools'],
    create: ({ model: wanted, toolSet }) => {
      const chosen = wanted === 'offline demo' ? new DemoModel() : model;
      const researcher = new ReActAgent({
        name: 'Researcher',
        sysPrompt: 'You look things up with your tools and answer in one sentence.',
        model: chosen,
        tools: [currentTime, ...fileTools(folder)],
        console: false,
      });
      return new ReActAgent({
        name: 'Friday',
        sysPrompt: 'You are Friday, a helpful assistant in a demo. Use the tools where they help.',
        model: chosen,
        memory: new AutoContextMemory(),
        planNotebook: new PlanNotebook(),
        permissionPolicy: new PermissionRules({ mode: 'default' }),
        tools:
          toolSet === 'no tools'
            ? []
            : [
                calculate,
                currentTime,
                ...fileTools(folder),
                sendNote,
                askForDetails,
                askUserTool(),
                agentTool(researcher, {
                  name: 'ask_researcher',
                  description: 'Asks the researcher, who can look at the clock and at files.',
                  readOnly: true,
                }),
              ],
        console: false,
      });
    },
  };
}

/** Asks for approval: it is not read-only. Nothing leaves the machine. */
const sendNote = tool({
  name: 'send_note',
  description: 'Sends a short note to a person.',
  schema: z.object({ to: z.string().describe('Who gets it.'), text: z.string() }),
  execute: ({ to, text }) =>
    `The note for ${to} was written down, and not sent, because this is a demo: ${text}`,
});

/** Has a person fill in a form. */
const askForDetails = tool({
  name: 'ask_for_details',
  description: 'Asks the user for the details of a booking, by a form.',
  schema: z.object({}),
  readOnly: true,
  async execute() {
    const user = new UserAgent({ name: 'you', console: false });
    const answer = await user.call('Please fill in the form.', {
      structuredModel: z.object({
        guests: z.number().int().min(1).max(20).describe('How many people?'),
        day: z.enum(['today', 'tomorrow', 'Saturday']),
        outside: z.boolean().describe('A table outside?').optional(),
        wish: z.string().describe('Anything else?').optional(),
      }),
    });
    return JSON.stringify(answer.metadata);
  },
});
