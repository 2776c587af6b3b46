// Sound of the page, in the threads of the browser that must never wait: the microphone, and the loudspeaker with its position.

const PACKET = 640; // samples: 40 ms at 16 kHz
const START = 1920; // samples before the sound begins: 80 ms at 24 kHz against a shaky network
const REPORT = 1200; // samples between two reports: 50 ms

class Microphone extends AudioWorkletProcessor {
  packet = new Int16Array(PACKET);
  filled = 0;

  process([[channel]]) {
    for (const sample of channel ?? []) {
      this.packet[this.filled++] = Math.max(-1, Math.min(1, sample)) * 32767;
      if (this.filled < PACKET) continue;
      this.port.postMessage(this.packet.buffer, [this.packet.buffer]);
      this.packet = new Int16Array(PACKET);
      this.filled = 0;
    }
    return true;
  }
}

class Loudspeaker extends AudioWorkletProcessor {
  pieces = []; // { itemId, samples }
  waiting = 0;
  offset = 0;
  isPaused = false;
  isWaiting = true;
  played = new Map(); // samples by item
  sinceReport = 0;

  constructor() {
    super();
    this.port.onmessage = ({ data }) => {
      if (data.type === 'play') {
        this.pieces.push({ itemId: data.itemId, samples: data.samples });
        this.waiting += data.samples.length;
      } else if (data.type === 'finish') this.isWaiting = false;
      else if (data.type === 'pause') this.isPaused = true;
      else if (data.type === 'resume') this.isPaused = false;
      else if (data.type === 'drop') {
        this.pieces = [];
        this.waiting = 0;
        this.offset = 0;
        this.isPaused = false;
        this.isWaiting = true;
        this.report();
      }
    };
  }

  process(_inputs, [[channel]]) {
    if (this.waiting >= START) this.isWaiting = false;
    for (let i = 0; i < channel.length && !this.isPaused && !this.isWaiting; i++) {
      const [piece] = this.pieces;
      if (piece === undefined) {
        this.isWaiting = true;
        this.report();
        break;
      }
      channel[i] = piece.samples[this.offset++];
      this.waiting--;
      this.sinceReport++;
      this.played.set(piece.itemId, (this.played.get(piece.itemId) ?? 0) + 1);
      if (this.offset < piece.samples.length) continue;
      this.pieces.shift();
      this.offset = 0;
    }
    if (this.sinceReport >= REPORT) this.report();
    return true;
  }

  report() {
    this.sinceReport = 0;
    for (const [itemId, samples] of this.played)
      this.port.postMessage({ itemId, ms: (samples / sampleRate) * 1000 });
    while (this.played.size > 8) this.played.delete(this.played.keys().next().value);
  }
}

registerProcessor('microphone', Microphone);
registerProcessor('loudspeaker', Loudspeaker);
