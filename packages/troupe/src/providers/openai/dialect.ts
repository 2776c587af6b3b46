import { fitId } from '../../formatter/msg-parts.ts';
import { fingerprint } from '../../util/hash.ts';
import { ruleFor, type ModelRule } from './model-rules.ts';
import { CHAT_VENDORS, type ChatVendor, type ChatVendorName } from './vendors.ts';

/** Wire rules for one model of a vendor. */
export interface ChatDialect {
  /** Vendor name, stored with thinking to mark the owner. */
  readonly name: ChatVendorName;
  readonly vendor: ChatVendor;
  readonly rule: ModelRule;
  /** Whether the model rejects tool calls in the history without their thinking, while it thinks. */
  readonly needsThinking: boolean;
  /** Tool call id as the model accepts it. */
  readonly callId: (id: string) => string;
}

/** Models of Mistral, which accept no other ids than those of nine letters or digits, at any vendor. */
const MISTRAL = /(?:^|[/_-])(?:mistral|mixtral|ministral|magistral|codestral|devstral|pixtral|voxtral)/i;
const NINE = /^[a-zA-Z0-9]{9}$/;

export function chatDialectOf(name: ChatVendorName, modelName: string): ChatDialect {
  const vendor: ChatVendor = CHAT_VENDORS[name];
  return {
    name,
    vendor,
    rule: ruleFor(modelName, vendor.models),
    needsThinking: vendor.thinkingNeeded.test(modelName),
    callId:
      name === 'mistral' || MISTRAL.test(modelName)
        ? (id) => (NINE.test(id) ? id : nineOf(id))
        : (id) => fitId(id, vendor.callIds),
  };
}

/** Nine letters or digits derived from an id. */
function nineOf(id: string): string {
  return BigInt(`0x${fingerprint(id)}`)
    .toString(36)
    .padStart(9, '0')
    .slice(-9);
}
