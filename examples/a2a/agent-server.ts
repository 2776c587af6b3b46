// Serves an agent to other programs. Any A2A client can talk to it; main.ts starts this program and is such a
// client. The model is the OfflineModel, which follows simple rules but really calls the tools.

import { ReActAgent, tool, Toolkit } from 'troupe';
import { serveA2A } from 'troupe/a2a';
import { OfflineModel } from 'troupe/offline';
import { z } from 'zod';

const toolkit = new Toolkit();
const schema = z.object({ city: z.string().describe('The name of the city.') });
toolkit.registerToolFunction(
  tool({
    name: 'get_weather',
    description: 'The weather in a city, now.',
    schema,
    readOnly: true,
    execute: ({ city }) => `${city}: sunny, 24 °C.`,
  }),
);
toolkit.registerToolFunction(
  tool({
    name: 'book_hotel',
    description: 'Books a hotel in a city.',
    schema,
    execute: ({ city }) => `A room in ${city} is booked.`,
  }),
);

const server = serveA2A(
  // Each conversation has its own agent.
  () => {
    const agent = new ReActAgent({
      name: 'travel-agent',
      sysPrompt: 'Use the tools.',
      model: new OfflineModel(),
      toolkit,
      permissionPolicy: {
        decide: ({ call }) =>
          call.name === 'book_hotel' ? { behavior: 'ask', reason: 'It costs money.' } : { behavior: 'allow' },
      },
      console: false,
    });
    return agent;
  },
  {
    card: {
      name: 'travel-agent',
      description: 'Knows the weather and books hotels.',
      skills: [{ id: 'weather', name: 'Weather', description: 'The weather in any city.' }],
    },
  },
);
process.send?.(await server.listen()); // a free port of this machine
process.on('disconnect', () => void server.close()); // the parent process has ended
