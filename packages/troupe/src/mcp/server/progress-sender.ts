import type { ToolCallResult } from '../../toolkit/tool/tool.ts';
import type { ClientSide } from './client-rounds.ts';
import { resultText } from './mcp-result.ts';

const MAX_PROGRESS_CHARS = 2000;

/** Sends progress to a client that asked for it: that of the tool, or else its snapshots, of which a message has the end of the text. */
export class ProgressSender {
  readonly #client: Pick<ClientSide, 'request'>;
  #count = 0;
  #isOwn = false;

  constructor(client: Pick<ClientSide, 'request'>) {
    this.#client = client;
  }

  async sendSnapshot(result: ToolCallResult): Promise<void> {
    if (this.#isOwn) return;
    this.#count += 1;
    await this.#notify({ progress: this.#count, message: resultText(result).slice(-MAX_PROGRESS_CHARS) });
  }

  async send(progress: number, total?: number, message?: string): Promise<void> {
    this.#isOwn = true;
    await this.#notify({
      progress,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message: message.slice(-MAX_PROGRESS_CHARS) }),
    });
  }

  async #notify(params: { progress: number; total?: number; message?: string }): Promise<void> {
    const { _meta, notify } = this.#client.request;
    const progressToken = _meta?.progressToken;
    if (progressToken === undefined) return;
    await notify({ method: 'notifications/progress', params: { progressToken, ...params } });
  }
}
