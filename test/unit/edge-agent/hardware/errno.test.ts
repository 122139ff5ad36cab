import { describe, expect, it } from 'vitest';
import { readCode } from '#agent/hardware/errno.ts';

describe("the kernel's code", () => {
  it.each([
    ["dd: error writing '/sys/x': No space left on device", 'ENOSPC'],
    ["dd: error writing '/sys/x': Device or resource busy", 'EBUSY'],
    ["dd: can't open '/sys/x': Resource busy", 'EBUSY'],
    ["dd: error writing '/sys/x': File exists", 'EEXIST'],
    ["dd: error writing '/sys/x': Invalid argument", 'EINVAL'],
    ["dd: error writing '/sys/x': No such device", 'ENODEV'],
    ["dd: error writing '/sys/x': No such device or address", 'ENXIO'],
    ["head: cannot open '/sys/x' for reading: No such file or directory", 'ENOENT'],
    ["head: error reading '/sys/x': Input/output error", 'EIO'],
    ["dd: error writing '/sys/x': Inappropriate ioctl for device", 'ENOTTY'],
    ["dd: failed to open '/sys/x': Operation not permitted", 'EPERM'],
    ["dd: failed to open '/sys/x': Permission denied", 'EACCES'],
    ["dd: error writing '/sys/x': Numerical result out of range", 'ERANGE'],
    ['helper: the image: Connection timed out', 'ETIMEDOUT'],
    ['helper: the image: Cannot allocate memory', 'ENOMEM'],
    ['helper: the image: Bad address', 'EFAULT'],
    ["dd: error writing '/sys/x': Operation not supported", 'EOPNOTSUPP'],
    ["head: error reading '/sys/x': Structure needs cleaning", 'EUCLEAN'],
  ])('of %j is %s', (message, code) => expect(readCode(message)).toBe(code));

  it('is that of the line that names it, whatever dd prints after it', () => {
    const message = "dd: error writing 'x': File exists\n0+1 records in\n0+0 records out\n";
    expect(readCode(message)).toBe('EEXIST');
  });

  it('is EIO for a message that names none', () => {
    expect(readCode('dd: something else')).toBe('EIO');
    expect(readCode('')).toBe('EIO');
  });
});
