/** Address of a link that a model wrote, if its scheme is harmless; otherwise undefined. Fails closed. */
export function safeLink(href: string): URL | undefined {
  try {
    const url = new URL(href); // relative addresses have no base here, and are refused
    return /^(?:https?|mailto):$/.test(url.protocol) ? url : undefined;
  } catch {
    return undefined;
  }
}
