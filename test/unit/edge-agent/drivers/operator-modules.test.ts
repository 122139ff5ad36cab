import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ConfigInvalid, loadConfig, modulesFolder } from '#agent/config/config.ts';
import { loadOperatorModules } from '#agent/config/operator-modules.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'drivers-'));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const driver = (name: string, settings = 'undefined') => `export default ({ defineDriver, z }) =>
  defineDriver({
    name: ${JSON.stringify(name)},
    settings: ${settings},
    create: () => ({ name: ${JSON.stringify(name)}, discover: async () => ({ devices: {} }) }),
  });`;

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text, { mode: 0o644 });
  return file;
}

const load = () => loadOperatorModules({ path: folder, isNamed: true });

/** Gives a file to another user, or takes it as another user. */
function disown(file: string): void {
  if (process.getuid?.() === 0) chownSync(file, 12_345, 0);
  else vi.spyOn(process, 'getuid').mockReturnValue(12_345);
}

describe("the operator's drivers", () => {
  const config = async (given: object) =>
    loadConfig({
      environment: {},
      file: JSON.stringify({
        stage: 'dev',
        endpoint: 'x',
        certificate: '/c',
        key: '/k',
        ...given,
      }),
      hostname: 'cmp1',
      isReadable: () => true,
      modules: await load(),
      modulesFrom: folder,
    });

  it('are loaded in the order of their files, and need no import', async () => {
    write('b.mjs', driver('my_npu', 'z.strictObject({ cards: z.array(z.string()) })'));
    write('a.mjs', driver('another'));
    write('README', 'text');
    expect((await load()).map(({ name }) => name)).toEqual(['another', 'my_npu']);
    const { drivers } = await config({ drivers: ['my_npu'], my_npu: { cards: ['one'] } });
    expect(drivers.map(({ name }) => name)).toEqual(['my_npu']);
    await expect(config({ drivers: ['my_npu'], my_npu: { cards: 1 } })).rejects.toThrow(
      'CYBORG_AGENT_MY_NPU (at cards)',
    );
    await expect(config({ drivers: ['nothing'] })).rejects.toThrow(
      `, another, my_npu, and the operator's drivers in ${folder}.`,
    );
  });

  it('may be absent, unless the settings name the folder', async () => {
    const path = join(folder, 'none');
    expect(await loadOperatorModules({ path, isNamed: false })).toEqual([]);
    const named = loadOperatorModules({ path, isNamed: true });
    await expect(named).rejects.toThrow(`${path} is not a folder.`);
  });

  it('are in the folder of the settings, of the environment, or below /etc', () => {
    const file = '{"drivers_dir":"/one"}';
    expect(modulesFolder({ environment: {}, file })).toEqual({ path: '/one', isNamed: true });
    const environment = { CYBORG_AGENT_DRIVERS_DIR: '/two' };
    expect(modulesFolder({ environment, file })).toEqual({ path: '/two', isNamed: true });
    const path = '/etc/cyborg-agent/drivers.d';
    expect(modulesFolder({ environment: {} })).toEqual({ path, isNamed: false });
    expect(() => modulesFolder({ environment: {}, file: '{"drivers_dir":"one"}' })).toThrow(
      'CYBORG_AGENT_DRIVERS_DIR: must be an absolute path.',
    );
  });
});

describe('a file is refused, and the agent does not start,', () => {
  const refused = async (file: string, fault: string) => {
    const error = await load().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigInvalid);
    expect((error as Error).message).toContain(`${file} ${fault}`);
  };

  it.each([0o664, 0o646])('that others than its owner may write: %o', async (mode) => {
    const file = write('a.mjs', driver('a'));
    chmodSync(file, mode);
    await refused(file, 'must not be writable by its group or by others.');
  });

  it.each([0o775, 0o757, 0o1777])('in a folder that others may write: %o', async (mode) => {
    write('a.mjs', driver('a'));
    chmodSync(folder, mode);
    await refused(folder, 'must not be writable by its group or by others.');
  });

  it('that belongs to another user', async () => {
    const file = write('a.mjs', driver('a'));
    disown(file);
    const isRoot = process.getuid?.() === 0;
    await refused(isRoot ? file : folder, 'belongs to user');
  });

  it('in a folder that belongs to another user', async () => {
    disown(folder);
    await refused(folder, 'belongs to user');
  });

  it.each([0o775, 0o757])('below a folder that others may write: %o', async (mode) => {
    const outer = join(folder, 'outer');
    folder = join(outer, 'drivers');
    mkdirSync(folder, { recursive: true });
    write('a.mjs', driver('a'));
    chmodSync(outer, mode);
    await refused(outer, 'must not be writable by its group or by others.');
    chmodSync(outer, 0o1777);
    expect(await load()).toHaveLength(1);
    folder = dirname(outer);
  });

  it('that is a link or a folder', async () => {
    const target = join(folder, 'target');
    writeFileSync(target, driver('a'));
    const link = join(folder, 'a.mjs');
    symlinkSync(target, link);
    await refused(link, 'is not a regular file.');
    rmSync(link);
    mkdirSync(link);
    await refused(link, 'is not a regular file.');
  });

  it.each([
    ['without a default export', 'export const a = 1;', 'must have a function as its default'],
    ['whose export is no function', 'export default {};', 'must have a function as its default'],
    ['that is not JavaScript', 'export default (', 'fails: '],
    ['that throws while it is loaded', 'throw new Error("no card")', 'fails: no card.'],
    ['whose function throws', 'export default () => { throw new Error("bad") }', 'fails: bad.'],
    ['that returns nothing', 'export default () => {}', 'must return defineDriver({ ... }).'],
    ['with capitals in its name', driver('Npu'), 'has the name "Npu"; a name begins'],
    ['with a path as its name', driver('../x'), 'has the name "../x"; a name begins'],
    ['with an empty name', driver(''), 'has the name ""; a name begins'],
    ['with the name of an own driver', driver('pci'), 'which a driver of the agent has.'],
    ['with the name of a setting', driver('stage'), 'which is that of a setting of the agent.'],
    ['that no list could name', driver('npu_driver'), 'a name must not end with _driver.'],
  ])('%s', async (_name, text, fault) => {
    const file = write('a.mjs', text);
    const error = await load().catch((thrown: Error) => thrown.message);
    expect(error).toContain(file);
    expect(error).toContain(fault);
  });

  describe('that imports a file', () => {
    /** Imports by Node itself, as the agent does: Vitest imports in its own way. */
    const outcome = () => {
      const script = `
        const { loadOperatorModules } = await import('#agent/config/operator-modules.ts');
        const path = ${JSON.stringify(folder)};
        await loadOperatorModules({ path, isNamed: true }).then(
          (modules) => console.log('loaded', modules.map(({ name }) => name).join()),
          (error) => console.log(error.name, error.message),
        );`;
      const args = ['--input-type=module', '--eval', script];
      return execFileSync(process.execPath, args, { encoding: 'utf8' }).trim();
    };
    const importing = (specifier: string) =>
      `import { named } from ${JSON.stringify(specifier)}; ${driver('a').replace('"a"', 'named')}`;

    beforeEach(() => {
      for (const below of ['lib', 'node_modules/part']) {
        mkdirSync(join(folder, below), { recursive: true });
      }
      write('lib/first.mjs', "export { named } from './second.mjs';");
      write('lib/second.mjs', 'export const named = "a";');
      write('node_modules/part/index.cjs', 'exports.named = require("./more.cjs");');
      write('node_modules/part/more.cjs', 'module.exports = "a";');
      write('node_modules/part/package.json', '{"name":"part","main":"index.cjs"}');
    });

    it.each(['./lib/first.mjs', 'part'])('loads it if no other user can write it: %s', (from) => {
      write('a.mjs', importing(from));
      expect(outcome()).toBe('loaded a');
    });

    it.each([
      ['./lib/first.mjs', 'lib/first.mjs'],
      ['./lib/first.mjs', 'lib/second.mjs'],
      ['./lib/first.mjs', 'lib'],
      ['part', 'node_modules/part/index.cjs'],
      ['part', 'node_modules/part/more.cjs'],
      ['part', 'node_modules'],
    ])('from %s, while others may write %s', (from, writable) => {
      write('a.mjs', importing(from));
      const path = join(folder, writable);
      chmodSync(path, statSync(path).mode | 0o002);
      expect(outcome()).toBe(
        `ConfigInvalid ${path} must not be writable by its group or by others.`,
      );
    });

    it('later, when the driver works', () => {
      write(
        'a.mjs',
        `export default ({ defineDriver }) =>
          defineDriver({ name: 'a', create: () => import('./lib/first.mjs') });`,
      );
      chmodSync(join(folder, 'lib/second.mjs'), 0o646);
      const script = `
        const { loadOperatorModules } = await import('#agent/config/operator-modules.ts');
        const [module] = await loadOperatorModules({ path: ${JSON.stringify(folder)} });
        await module.configure().create({}).catch((error) => console.log(error.message));`;
      const args = ['--input-type=module', '--eval', script];
      expect(execFileSync(process.execPath, args, { encoding: 'utf8' })).toContain(
        'lib/second.mjs must not be writable by its group or by others.',
      );
    });
  });

  it('with the name of another file', async () => {
    const first = write('a.mjs', driver('npu'));
    const second = write('b.mjs', driver('npu'));
    await refused(second, `has the name npu, which ${first} has.`);
  });
});
