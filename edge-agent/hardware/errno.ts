// Recovers the kernel's error code from the message of a child: coreutils (glibc) and busybox
// (musl) end it with the text of strerror(3), in English under LC_ALL=C.

const codes: readonly (readonly [text: string, code: string])[] = [
  ['No space left on device', 'ENOSPC'],
  ['Device or resource busy', 'EBUSY'],
  ['Resource busy', 'EBUSY'],
  ['File exists', 'EEXIST'],
  ['Invalid argument', 'EINVAL'],
  ['No such device or address', 'ENXIO'],
  ['No such device', 'ENODEV'],
  ['No such file or directory', 'ENOENT'],
  ['Not a directory', 'ENOTDIR'],
  ['Is a directory', 'EISDIR'],
  ['Input/output error', 'EIO'],
  ['I/O error', 'EIO'],
  ['Inappropriate ioctl for device', 'ENOTTY'],
  ['Not a tty', 'ENOTTY'],
  ['Operation not permitted', 'EPERM'],
  ['Permission denied', 'EACCES'],
  ['Numerical result out of range', 'ERANGE'],
  ['Result not representable', 'ERANGE'],
  ['Connection timed out', 'ETIMEDOUT'],
  ['Operation timed out', 'ETIMEDOUT'],
  ['Cannot allocate memory', 'ENOMEM'],
  ['Out of memory', 'ENOMEM'],
  ['Bad address', 'EFAULT'],
  ['Operation not supported', 'EOPNOTSUPP'],
  ['Not supported', 'EOPNOTSUPP'],
  ['Structure needs cleaning', 'EUCLEAN'],
];

/** The code of the last line that ends with a known text, else EIO. */
export function readCode(message: string): string {
  for (const line of message.trimEnd().split('\n').reverse()) {
    const code = codes.find(([text]) => line.trimEnd().endsWith(`: ${text}`));
    if (code) return code[1];
  }
  return 'EIO';
}

/** A device did not do what it was asked; `code` is the kernel's, as in Node's own errors. */
export class HardwareError extends Error {
  override readonly name = 'HardwareError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}
