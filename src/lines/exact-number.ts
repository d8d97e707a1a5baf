/** Whether a number in JSON is read as what it says. */

/** So many digits, without an exponent, are never rounded to what other digits are rounded to. */
const MAYBE_ROUNDED = /[\d.]{16}|\d[eE]/;
/** Strings, to be passed over, or numbers. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const PARTS = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * `json` is the valid JSON text that `value` was read from. Its source is not to be had from every version of Node: all
 * numbers of the text that are read as this one have to say it.
 */
export function isExactNumber(value: number, json: string): boolean {
  if (!MAYBE_ROUNDED.test(json)) return true;
  const said = decimalOf(String(value));
  for (const [token] of json.matchAll(TOKEN)) {
    if (!token.startsWith('"') && Number(token) === value && decimalOf(token) !== said) return false;
  }
  return said !== undefined;
}

/** Equal for two texts only when they are the same decimal number; `undefined` for what is none. */
function decimalOf(text: string): string | undefined {
  const parts = PARTS.exec(text);
  if (parts === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts;
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${sign}${significant}e${power}`;
}
