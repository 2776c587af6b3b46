/** Reads a decision about a pending tool call from a person's words; undefined if the words are unclear. */
export type VoiceDecision = (text: string) => 'allow' | 'deny' | undefined;

const YES =
  'yes|yeah|yep|yes please|yes go ahead|go ahead|please do|do it|sure|allow|allow it|approve|approved|i approve|confirm|confirmed|ja|ja bitte|oui|sí|si|是|是的|好|好的|可以|同意|允许|批准|はい|네';
const NO =
  'no|nope|no thanks|no thank you|don t|do not|don t do it|do not do it|stop|never|deny|denied|reject|cancel|nein|nein danke|non|不|不要|不行|不可以|拒绝|取消|いいえ|아니요';
const YES_WORDS = new Set(YES.split('|'));
const NO_WORDS = new Set(NO.split('|'));

/**
 * Reads a decision from what a person said. The whole utterance must be a plain yes or no: "yes, but not today" decides nothing, so that
 * the agent asks again. The person's transcript is read by the program, never by the model, which could be talked into a yes.
 */
export const plainYesOrNo: VoiceDecision = (text) => {
  const words = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
  if (YES_WORDS.has(words)) return 'allow';
  return NO_WORDS.has(words) ? 'deny' : undefined;
};
