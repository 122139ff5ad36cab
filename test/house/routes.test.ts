// The table of routes is complete and true: what it names is there, what is there it names.

import { existsSync, globSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { queues } from '#core/contracts/queues/queues.ts';
import { policies } from '#core/domain/policy.ts';
import { actions as acceleratorRequests } from '#functions/accelerator-requests/handler.ts';
import { actions as attributes } from '#functions/attributes/handler.ts';
import { actions as consoleActions } from '#functions/console/handler.ts';
import { actions as deployables } from '#functions/deployables/handler.ts';
import { actions as deviceProfiles } from '#functions/device-profiles/handler.ts';
import { actions as devices } from '#functions/devices/handler.ts';
import { gatewayRoutes, resourceFor } from '#functions/gateway.ts';
import type { Action } from '#functions/http/action.ts';
import { apiPath, matchPath } from '#functions/http/request/match-path.ts';
import { actions as operator } from '#functions/operator/handler.ts';
import { type Resource, routes } from '#functions/routes.ts';
import { actions as versions } from '#functions/versions/handler.ts';

const actions: Readonly<Record<Resource, Readonly<Record<string, Action>>>> = {
  versions,
  'device-profiles': deviceProfiles,
  'accelerator-requests': acceleratorRequests,
  devices,
  deployables,
  attributes,
  operator,
  console: consoleActions,
};

const root = join(import.meta.dirname, '../..');

describe('every row of the table of routes', () => {
  it('has its module', () => {
    const modulesOf = ({ resource, action }: (typeof routes)[number]) =>
      globSync(`functions/${resource}/**/${action}.ts`, { cwd: root });
    expect(routes.filter((row) => modulesOf(row).length !== 1)).toEqual([]);
  });

  it('is served by its resource', () => {
    const isServed = ({ resource, action }: (typeof routes)[number]) => action in actions[resource];
    expect(routes.filter((row) => !isServed(row))).toEqual([]);
  });

  it('is answered with a trailing slash and with .json, below either mount', () => {
    const reads = routes.filter(
      ({ method, resource }) => method === 'GET' && resource !== 'console',
    );
    const spellings = reads.flatMap(({ path, resource }) => {
      const filled = path.replace('{id}', 'x');
      const spelled = [filled, `/accelerator${filled}`, `${filled}/`, `${filled}.json`];
      return spelled.map((each) => ({ path, resource, spelled: each }));
    });
    const lost = spellings.filter(
      ({ path, resource, spelled }) =>
        resourceFor(spelled) !== resource ||
        !matchPath(apiPath(spelled)).some(({ row }) => row.path === path),
    );
    expect(lost).toEqual([]);
  });
});

describe('the console', () => {
  it.each([
    ['/console', '/console'],
    ['/console/', '/console'],
    ['/console/main-1.js', '/console/{id}'],
    ['/console/sign-in', '/console/sign-in'],
  ])('%s is its row %s', (path, row) => {
    expect(resourceFor(path)).toBe('console');
    expect(matchPath(apiPath(path)).map((match) => match.row.path)).toContain(row);
  });

  it('has no second address', () => {
    expect(resourceFor('/accelerator/console')).toBe('versions');
    expect(resourceFor('/console.json')).toBe('versions');
  });
});

describe('nothing is served beside the table', () => {
  it('has no action without a row', () => {
    const served = Object.entries(actions).flatMap(([resource, own]) =>
      Object.keys(own).map((action) => `${resource}/${action}`),
    );
    const rows = routes.map(({ resource, action }) => `${resource}/${action}`);
    expect(served.filter((each) => !rows.includes(each))).toEqual([]);
  });

  it('knows no policy that no route enforces', () => {
    const beside = Object.values<Readonly<Record<string, Action>>>(actions).flatMap((own) =>
      Object.values(own).flatMap(({ schemas }) => schemas.rulesBeside ?? []),
    );
    const enforced = [...routes.flatMap(({ policy }) => policy ?? []), ...beside];
    expect(Object.keys(policies).filter((rule) => !enforced.includes(rule as never))).toEqual([]);
  });

  it('leaves only documents, the console and its sign-in open', () => {
    const open = routes.filter(({ policy }) => policy === undefined).map(({ path }) => path);
    expect(open).toEqual(['/', '/v2', '/openapi', '/console', '/console/sign-in', '/console/{id}']);
  });

  it('sends what no resource takes to versions', () => {
    expect(gatewayRoutes.at(-1)).toEqual({ path: '$default', resource: 'versions' });
    expect(resourceFor('/v3/devices')).toBe('versions');
  });
});

describe('every queue', () => {
  it('has its consumer', () => {
    const consumers = queues.map(({ name }) => `functions/consumers/${name}.ts`);
    expect(consumers.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  it('is hidden at least as long as its consumer may take', () => {
    const short = queues.filter((row) => row.visibilitySeconds < row.timeoutSeconds);
    expect(short).toEqual([]);
  });
});

describe('resources', () => {
  it('are the folders of functions/', () => {
    const folders = readdirSync(join(root, 'functions'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !['http', 'consumers'].includes(entry.name))
      .map(({ name }) => name);
    expect(folders.sort()).toEqual(Object.keys(actions).sort());
  });
});
