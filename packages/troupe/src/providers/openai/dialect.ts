import { ruleFor, type ModelRule } from './model-rules.ts';
import { CHAT_VENDORS, type ChatVendor, type ChatVendorName } from './vendors.ts';

/** How one model of a vendor is spoken to. */
export interface ChatDialect {
  /** Under which its thinking is marked as its own. */
  readonly name: ChatVendorName;
  readonly vendor: ChatVendor;
  readonly rule: ModelRule;
  /** Whether calls in the history are rejected that come without their thinking. */
  readonly needsThinking: boolean;
}

export function chatDialectOf(name: ChatVendorName, modelName: string): ChatDialect {
  const vendor: ChatVendor = CHAT_VENDORS[name];
  return {
    name,
    vendor,
    rule: ruleFor(modelName, vendor.models),
    needsThinking: vendor.thinkingNeeded.test(modelName),
  };
}
