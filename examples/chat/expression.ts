// A small calculator: numbers, + - * / % ^, signs and brackets. It parses the text and never runs it as code.

const MAX_LENGTH = 1_000;
const MAX_DEPTH = 100;

/** Value of an arithmetic expression. Throws an Error that describes a syntax error. */
export function evaluate(text: string): number {
  if (text.length > MAX_LENGTH) throw new Error(`An expression has at most ${MAX_LENGTH} characters.`);
  const tokens = text.match(/\d+(?:\.\d+)?|\.\d+|\S/g) ?? [];
  let at = 0;
  let depth = 0;

  function takeOneOf(operators: string): string | undefined {
    const token = tokens[at];
    if (token === undefined || !operators.includes(token)) return undefined;
    at++;
    return token;
  }

  function sum(): number {
    let value = product();
    for (let operator = takeOneOf('+-'); operator; operator = takeOneOf('+-')) {
      value = operator === '+' ? value + product() : value - product();
    }
    return value;
  }

  function product(): number {
    let value = signed();
    for (let operator = takeOneOf('*/%'); operator; operator = takeOneOf('*/%')) {
      const right = signed();
      if (operator !== '*' && right === 0) throw new Error('Nothing can be divided by zero.');
      value = operator === '*' ? value * right : operator === '/' ? value / right : value % right;
    }
    return value;
  }

  function signed(): number {
    return nested(() => {
      const sign = takeOneOf('+-');
      if (sign === undefined) return power();
      return sign === '-' ? -signed() : signed();
    });
  }

  function power(): number {
    const base = atom();
    return takeOneOf('^') ? base ** signed() : base; // binds tighter than a preceding sign: -2 ^ 2 is -4
  }

  function atom(): number {
    const token = tokens[at++];
    if (token === undefined) throw new Error('The expression ends too early.');
    if (token === '(') {
      const value = sum();
      if (!takeOneOf(')')) throw new Error('A bracket is not closed.');
      return value;
    }
    if (!/^[\d.]*\d$/.test(token)) throw new Error(`'${token}' does not belong in an expression.`);
    return Number(token);
  }

  function nested(body: () => number): number {
    if (++depth > MAX_DEPTH) throw new Error('The expression is nested too deeply.');
    const value = body();
    depth--;
    return value;
  }

  const value = sum();
  if (at < tokens.length) throw new Error(`'${tokens[at]}' comes where nothing is expected.`);
  if (!Number.isFinite(value)) throw new Error('The result is not a number that can be written down.');
  return value;
}
