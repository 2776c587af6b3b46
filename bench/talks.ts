// Many conversations by voice in one process: the delay that the library adds to frames of sound. 100 clients in another process send 20 ms frames over WebSockets on
// this machine, each with the time at which it was sent; a model without a network answers.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';

import { RealtimeAgent, serveTalk } from 'troupe/realtime';
import { ScriptedRealtimeModel } from 'troupe/testing';
import { WebSocketServer, WebSocket } from 'ws';

const TALKS = Number(process.env['TALKS'] ?? 100);
const SECONDS = Number(process.env['SECONDS'] ?? 20);
const FRAME_MS = 20;
/** Time in which all conversations begin; not measured. */
const START_MS = 6000;
const RATE = 16_000;
const TEXT = 'One two three four five six seven eight nine ten. '.repeat(8);

/** Time that is the same in all processes of this machine, in milliseconds. */
const time = (): number => performance.timeOrigin + performance.now();

function report(what: string, values: number[]): void {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor((sorted.length - 1) * share)] ?? NaN).toFixed(1);
  console.log(
    `${what}: ${values.length} frames, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, p99.9 ${at(0.999)} ms, most ${at(1)} ms`,
  );
}

/** The clients: send sound all the time, and note how late the frames of the agent come. */
async function clients(url: string): Promise<void> {
  const late: number[] = [];
  const start = time();
  const sockets = Array.from({ length: TALKS }, () => new WebSocket(url));
  for (const socket of sockets) {
    let first: number | undefined;
    let soundMs = 0;
    setTimeout(() => (first = undefined), START_MS); // the start of all is over
    socket.addEventListener('message', ({ data }) => {
      const event = JSON.parse(data as string);
      if (event.type === 'agent_cut' || event.type === 'agent_response_created') first = undefined;
      if (event.type !== 'agent_response_audio_delta') return;
      const now = time();
      if (first === undefined) [first, soundMs] = [now, 0];
      if (now - start > START_MS) late.push(now - first - soundMs);
      first = Math.min(first, now - soundMs); // the frame that came least late is on time
      soundMs += Buffer.byteLength(event.delta, 'base64') / 48; // 24 kHz
    });
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'client_session_create' }));
  }
  for (let frame = 0; time() - start < SECONDS * 1000; frame++) {
    for (const [i, socket] of sockets.entries()) {
      if (frame === 0)
        setTimeout(() => socket.send(JSON.stringify({ type: 'client_response_create' })), (i * 500) / TALKS);
      const bytes = Buffer.alloc((RATE * FRAME_MS * 2) / 1000);
      bytes.writeDoubleLE(time(), 0);
      const format = { type: 'audio/pcm', rate: RATE };
      socket.send(JSON.stringify({ type: 'client_audio_append', audio: bytes.toString('base64'), format }));
    }
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, start + (frame + 1) * FRAME_MS - time())));
  }
  for (const socket of sockets) socket.close();
  report('From the agent, behind the beat of 20 ms', late);
  process.exit();
}

/** Prints the delays of frames in both directions. */
export async function measureTalks(): Promise<void> {
  const delays: number[] = [];
  const server = createServer();
  new WebSocketServer({ server, perMessageDeflate: false }).on('connection', (socket) => {
    const realtimeModel = new ScriptedRealtimeModel(Array.from({ length: 100 }, () => ({ text: TEXT })));
    const agent = new RealtimeAgent({ name: 'Friday', realtimeModel, console: false });
    void serveTalk(socket, agent, {
      onTalk: () => {
        const { connection } = realtimeModel;
        connection.sendAudio = ({ data }) => void delays.push(time() - Buffer.from(data).readDoubleLE(0));
      },
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const loop = monitorEventLoopDelay({ resolution: 1 });
  const cpu = process.cpuUsage();
  const child = fork(import.meta.filename, [`ws://127.0.0.1:${(server.address() as AddressInfo).port}`]);
  setTimeout(() => {
    delays.length = 0; // the start is over
    loop.enable();
  }, START_MS);
  await once(child, 'exit');
  const { user, system } = process.cpuUsage(cpu);
  report('To the model', delays);
  console.log(
    `${TALKS} conversations, ${SECONDS} s: event loop p99 ${(loop.percentile(99) / 1e6).toFixed(1)} ms, ${((user + system) / 1e6).toFixed(1)} s of processor time, ${(process.memoryUsage().rss / 1024 / 1024).toFixed(0)} MB`,
  );
  process.exit();
}

const [, file, url = ''] = process.argv;
if (file === import.meta.filename) await clients(url);
