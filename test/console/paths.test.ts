import { expect, it } from 'vitest';
import { deviceActions, devicePath } from '#console/devices/device-actions.ts';
import { hostActions } from '#console/hosts/host-actions.ts';

const text = '../../operator/v1/hosts/cmp1?x=1#y';

it('an id of an address stays one segment of the path', () => {
  const { disable, enable, reset, forceRelease } = deviceActions(text);
  const { resume } = hostActions(text);
  const requests = [disable, enable, reset, forceRelease, resume].map((each) =>
    each.request({ reason: 'a test' }),
  );
  for (const path of [devicePath(text), ...requests.map((each) => each.path)]) {
    const { pathname, search, hash } = new URL(path, 'https://api.test');
    expect([pathname.split('/').length <= 6, search, hash]).toEqual([true, '', '']);
    expect(decodeURIComponent(pathname)).toContain(text);
  }
});
