/** Names of the characters U+00A0 to U+00FF, in order. */
const LATIN_1 =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm ' +
  'raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde ' +
  'Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave ' +
  'eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml';

/** Further names with their characters. */
const OTHERS =
  'amp=& lt=< gt=> quot=" apos=\' hellip=… mdash=— ndash=– bull=• lsquo=‘ rsquo=’ sbquo=‚ ldquo=“ rdquo=” bdquo=„ lsaquo=‹ rsaquo=› ' +
  'euro=€ trade=™ larr=← uarr=↑ rarr=→ darr=↓ minus=− ne=≠ le=≤ ge=≥ oelig=œ OElig=Œ scaron=š Scaron=Š';

const NAMED: ReadonlyMap<string, string> = new Map([
  ...LATIN_1.split(' ').map((name, i) => [name, String.fromCharCode(0xa0 + i)] as const),
  ...OTHERS.split(' ').map((pair) => pair.split('=') as [string, string]),
]);

const ENTITY = /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z][a-z0-9]{1,15}));/gi;
const MAX_CODE_POINT = 0x10ffff;

/** Replaces character references by characters. Unknown references stay unchanged. */
export function decodeEntities(text: string): string {
  return text.replace(ENTITY, (reference: string, hex?: string, decimal?: string, name?: string) => {
    if (name !== undefined) return NAMED.get(name) ?? reference;
    const code = hex === undefined ? Number(decimal) : parseInt(hex, 16);
    const isSurrogate = code >= 0xd800 && code <= 0xdfff;
    return code === 0 || code > MAX_CODE_POINT || isSurrogate ? '\ufffd' : String.fromCodePoint(code);
  });
}
