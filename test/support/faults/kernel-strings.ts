// Texts that a C file of the kernel prints: each string, with its function and the call that it is
// an argument of.

export interface KernelString {
  /** Empty in a table outside of functions. */
  readonly function: string;
  /** The innermost call: `dev_err`; empty in a table. */
  readonly call: string;
  readonly text: string;
}

const token = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[A-Za-z_]\w*|[^\s\w]/g;
const comment = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"/g;

export function readStrings(source: string): KernelString[] {
  const code = source.replace(comment, (match) => (match.startsWith('"') ? match : ' '));
  const strings: KernelString[] = [];
  const calls: string[] = [];
  let [depth, name, candidate, last] = [0, '', '', ''];
  let current: KernelString | undefined;
  for (const [part] of code.matchAll(token)) {
    if (part.startsWith('"')) {
      const text = part.slice(1, -1);
      const call = calls.findLast((each) => each !== '') ?? '';
      // Strings side by side are one; `KERN_ERR` and macros of formats stand before and between.
      current = { function: name, call, ...current, text: (current?.text ?? '') + text };
      last = part;
      continue;
    }
    if (current) strings.push(current);
    current = undefined;
    if (part === '{') {
      if (depth === 0 && candidate !== '') name = candidate;
      depth += 1;
    } else if (part === '}') {
      depth = Math.max(0, depth - 1);
      if (depth === 0) [name, candidate] = ['', ''];
      calls.length = 0;
    } else if (part === '(') {
      const isName = /^\w+$/.test(last);
      if (depth === 0 && calls.length === 0 && isName) candidate = last;
      calls.push(isName ? last : '');
    } else if (part === ')') {
      calls.pop();
    } else if (part === ';') {
      calls.length = 0;
      if (depth === 0) candidate = '';
    }
    last = part;
  }
  return strings;
}

/** What the file puts before each message of a call: `#define dev_fmt(fmt) "DPC: " fmt`. */
export function readPrefix(source: string, call: string): string {
  const isOfDevice = !call.startsWith('pr_') && !call.startsWith('printk');
  const isShared = /^#define dev_fmt pr_fmt$/m.test(source);
  const macro = isOfDevice && !isShared ? 'dev_fmt' : 'pr_fmt';
  const [, text] =
    new RegExp(`^#define ${macro}\\(fmt\\)\\s+"([^"]*)" fmt`, 'm').exec(source) ?? [];
  return call.startsWith('printk') ? '' : (text ?? '');
}

/** The message that a format gives, as /dev/kmsg escapes it. */
export function expandFormat(format: string, values: readonly string[]): string {
  const left = [...values];
  const conversion = /%(?:%|[-#+ 0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?(?:p[a-zA-Z]*|[duxXsci]))/g;
  return format
    .replace(conversion, (match) => (match === '%%' ? '%' : (left.shift() ?? toValue(match))))
    .replace(/(\\n)+$/, '')
    .replaceAll('\\n', '\\x0a')
    .replaceAll('\\"', '"');
}

function toValue(conversion: string): string {
  if (/p[a-zA-Z]*$/.test(conversion)) return '-EIO';
  if (conversion.endsWith('s')) return 'word';
  const [, width] = /^%[-#+ ]*0?(\d*)/.exec(conversion) ?? [];
  const prefix = conversion.includes('#') ? '0x' : '';
  return prefix + '2'.padStart(Math.max(0, Number(width) - prefix.length), '0');
}
