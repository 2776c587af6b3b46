import { encoded } from '../encoded.ts';
import type { Action, ActionRequest, ActionResult } from '../../../src/protocol.ts';
import { post } from './request.ts';
import { WINDOW_ID } from './window-id.ts';

/** Takes an action in a run. Resolves when the program has taken it. */
export async function act(runId: string, action: Action): Promise<ActionResult> {
  const request: ActionRequest = { action, windowId: WINDOW_ID };
  return post<ActionResult>(`runs/${encoded(runId)}/actions`, request);
}
