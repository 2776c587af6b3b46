// The guided conversation of the demo: suggestions of the page, and how the offline demo model answers each of them.

import type { Suggestion } from '@troupe/studio';
import type { JsonObject } from 'troupe';

/** One model message of the demo: text, or a tool call. */
export type DemoStep = string | { readonly why: string; readonly tool: string; readonly input: JsonObject };

/** A suggestion, and the model messages that answer it, one after each tool result. */
export interface DemoStory {
  readonly suggestion: Suggestion;
  readonly steps: readonly DemoStep[];
}

const SUBTASKS = ['Choose a meadow', 'Write the shopping list', 'Invite Ann and Bob'];

const STORY = `# The lighthouse keeper

${Array.from(
  { length: 12 },
  (_, i) =>
    `${i + 1}. On day ${i + 1} the keeper climbed the stairs, polished the lamp, and wrote down how many ships had passed: **${3 + ((i * 7) % 11)}**. Then the fog came in from the west, slowly, and everything was quiet.`,
).join('\n')}

And the light never went out.`;

export const DEMO_STORIES: readonly DemoStory[] = [
  {
    suggestion: {
      label: { en: 'See an answer stream', zh: '观看流式回答' },
      text: 'Introduce yourself and your tools.',
      shows: 'streaming',
    },
    steps: [
      `I am **Friday**, the demo agent of this Studio. No language model is behind me now: I follow simple rules, so that everything works without a key.

| I can | try |
|---|---|
| use a tool | *What is 12 * (3 + 4)?* |
| ask before I act | *Send Ann a note* |
| ask what I can't know | *Paint my door* |
| give work to a sub-agent | *Ask the researcher* |
| work with a plan | *Plan a picnic* |

Set \`OPENAI_API_KEY\` or start Ollama, and a real model answers in my place. Until then, the numbers of tokens are estimates.`,
    ],
  },
  {
    suggestion: {
      label: { en: 'Use a tool', zh: '调用工具' },
      text: 'What is 12 * (3 + 4)?',
      shows: 'tool',
    },
    steps: [
      {
        why: 'This is arithmetic, so I use the calculator.',
        tool: 'calculate',
        input: { expression: '12 * (3 + 4)' },
      },
      '12 * (3 + 4) is **84**.',
    ],
  },
  {
    suggestion: {
      label: { en: 'Approve an action', zh: '批准一个操作' },
      text: 'Send Ann a note that dinner is at eight.',
      shows: 'approval',
    },
    steps: [
      {
        why: 'Sending changes something, so a person is asked first.',
        tool: 'send_note',
        input: { to: 'Ann', text: 'Dinner is at eight.' },
      },
      'Done: look at the result above. If you edited or denied the note, I went by your decision.',
    ],
  },
  {
    suggestion: {
      label: { en: 'Interrupt me', zh: '打断回答' },
      text: 'Tell me a long story about a lighthouse.',
      shows: 'interrupt',
    },
    steps: [STORY],
  },
  {
    suggestion: {
      label: { en: 'Watch a sub-agent', zh: '观察子智能体' },
      text: 'Ask the researcher what time it is.',
      shows: 'sub_agent',
    },
    steps: [
      {
        why: 'The researcher looks this up.',
        tool: 'ask_researcher',
        input: { query: 'What time is it now?' },
      },
      'The researcher has looked at the clock: its answer is in the tool result above.',
    ],
  },
  {
    suggestion: {
      label: { en: 'Follow a plan', zh: '跟随计划' },
      text: 'Plan a picnic.',
      shows: 'plan',
    },
    steps: [
      {
        why: 'Several steps: I write a plan first.',
        tool: 'create_plan',
        input: {
          name: 'Picnic',
          description: 'A picnic on Saturday.',
          expected_outcome: 'Everybody is there, and nobody is hungry.',
          subtasks: SUBTASKS.map((name) => ({ name, description: `${name}.`, expected_outcome: 'Done.' })),
        },
      },
      {
        why: 'The first subtask.',
        tool: 'update_subtask_state',
        input: { subtask_idx: 0, state: 'in_progress' },
      },
      {
        why: 'A meadow is found.',
        tool: 'finish_subtask',
        input: { subtask_idx: 0, outcome: 'The one by the river.' },
      },
      {
        why: 'The list is written.',
        tool: 'finish_subtask',
        input: { subtask_idx: 1, outcome: 'Bread, cheese, cherries.' },
      },
      'The meadow is chosen and the list is written. Shall I send the invitations? The plan board shows what is left.',
    ],
  },
  {
    suggestion: {
      label: { en: 'Be asked', zh: '回答提问' },
      text: 'Paint my door.',
      shows: 'question',
    },
    steps: [
      {
        why: 'Only you know the colour.',
        tool: 'ask_user',
        input: { question: 'Which colour shall your door have?', choices: ['red', 'green', 'blue'] },
      },
      'Thank you. The colour is in the result above; no door was painted, this is a demo.',
    ],
  },
  {
    suggestion: {
      label: { en: 'Fill in a form', zh: '填写表单' },
      text: 'Book a table for me.',
      shows: 'form',
    },
    steps: [
      { why: 'I need a few details.', tool: 'ask_for_details', input: {} },
      'Thank you. I have noted the details above; no restaurant was called, this is a demo.',
    ],
  },
];
