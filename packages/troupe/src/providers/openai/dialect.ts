import { ruleFor, type ModelRule } from './model-rules.ts';
import { CHAT_VENDORS, type ChatVendor, type ChatVendorName } from './vendors.ts';

/** Wire rules for one model of a vendor. */
export interface ChatDialect {
  /** Vendor name, stored with thinking to mark the owner. */
  readonly name: ChatVendorName;
  readonly vendor: ChatVendor;
  readonly rule: ModelRule;
  /** Whether the model rejects tool calls in the history without their thinking. */
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
