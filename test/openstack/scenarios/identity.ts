// Authentication, and the answers while Keystone is down.

import assert from 'node:assert/strict';
import { freePort } from '#local/ports.ts';
import { startKeystone } from '#test/openstack/install/cloud.ts';
import { keystoneUrl } from '#test/openstack/install/configuration.ts';
import { ownClients } from '#test/openstack/own-clients.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { create, removeCleanly, untilBuilt } from '#test/openstack/servers.ts';
import { acceleratorUrl } from '#test/openstack/stage.ts';
import { demo, logIn, other } from '#test/openstack/users.ts';
import { eventually, restClient } from '#test/support/suites/rest.ts';

const nova = { name: 'nova', project: 'service' };
const list = '/accelerator_requests';

export const identity: readonly Scenario[] = [
  {
    name: 'a caller without a valid user or service token gets 401 and the URL of Keystone',
    run: async (stage) => {
      const { plan } = stage.cloud;
      const api = restClient(acceleratorUrl(stage.layout), {});
      const user = await logIn(plan, demo);
      const headers: Record<string, string>[] = [
        {},
        { 'X-Auth-Token': 'invalid' },
        { 'X-Auth-Token': user, 'X-Service-Token': 'invalid' },
        { 'X-Auth-Token': user, 'X-Service-Token': await logIn(plan, other) },
      ];
      for (const each of headers) {
        const reply = await api.with(each).try('GET', list);
        assert.equal(reply.status, 401);
        const way = reply.headers.get('WWW-Authenticate');
        assert.equal(way, `Keystone uri="${keystoneUrl(plan)}"`);
      }
      return '';
    },
  },
  {
    name: 'an expired token is valid with a service token of Nova, and not without',
    run: async (stage) => {
      const { plan } = stage.cloud;
      const user = await logIn(plan, demo, await stage.briefKeystone());
      const api = restClient(acceleratorUrl(stage.layout), { 'X-Auth-Token': user });
      await eventually(
        () => api.try('GET', list),
        ({ status }) => status === 401,
      );
      const beside = api.with({ 'X-Service-Token': await logIn(plan, nova) });
      await beside.ask('GET', list);
      return '';
    },
  },
  {
    name: 'the application credential of the guide has all roles that Cyborg needs',
    run: async (stage) => {
      const printed = await stage.guide('application-credential');
      const [applicationCredentialId = '', password = ''] = printed.trim().split('\n').slice(-2);
      const { keystone, placement } = ownClients(stage, { applicationCredentialId, password });
      const token = await logIn(stage.cloud.plan, demo);
      const user = await keystone.validateToken(token, { allowExpired: false });
      assert.ok(user?.roles.includes('member'));
      assert.ok(await placement.findProviderByName(stage.cloud.plan.computeHost));
      return '';
    },
  },
  {
    name: 'the log names a wrong password, a missing role and a missing endpoint, with the URL',
    run: async (stage) => {
      const url = keystoneUrl(stage.cloud.plan);
      const token = await logIn(stage.cloud.plan, demo);
      const validate = (given: object) =>
        ownClients(stage, given)
          .keystone.validateToken(token, { allowExpired: false })
          .then(() => 'no fault', String);
      const wrong = await validate({ password: 'wrong' });
      assert.ok(wrong.includes(`identity at ${url}/auth/tokens`), wrong);
      assert.match(wrong, /no token for user 'cyborg' in project 'service'/);
      const roleless = await validate({
        username: other.name,
        projectName: other.project,
        password: stage.cloud.plan.password,
      });
      assert.match(roleless, /user 'other' in project 'other' cannot validate tokens: .*403/);
      const elsewhere = await ownClients(stage, { regionName: 'Mars' })
        .placement.getProvider('00000000-0000-4000-8000-000000000000')
        .then(() => 'no fault', String);
      assert.match(elsewhere, /placement at http.*no internal endpoint for it in region 'Mars'/);
      return [wrong, roleless, elsewhere].join('\n');
    },
  },
  {
    name: 'an endpoint that changes in the catalog is found once the old one does not answer',
    run: async (stage) => {
      const { keystone } = stage.admin;
      const { region, computeHost } = stage.cloud.plan;
      const [service] = (await keystone.ask('GET', '/services?type=placement')).body.services;
      const path = `/endpoints?service_id=${service?.id}&interface=internal&region_id=${region}`;
      const [endpoint] = (await keystone.ask('GET', path)).body.endpoints;
      assert.ok(endpoint);
      const change = (url: string) =>
        keystone.ask('PATCH', `/endpoints/${endpoint.id}`, { endpoint: { url } });
      const unused = await freePort({ host: '127.0.0.1', port: 0 });
      await change(`http://127.0.0.1:${unused}`);
      const { placement } = ownClients(stage);
      const find = () => placement.findProviderByName(computeHost).catch(String);
      try {
        assert.match(String(await find()), /ECONNREFUSED/);
      } finally {
        await change(endpoint.url);
      }
      const startedAt = performance.now();
      await eventually(find, (found) => typeof found === 'object', 60);
      return `found after ${((performance.now() - startedAt) / 1000).toFixed(0)} s`;
    },
  },
  {
    name: 'while Keystone is down, new tokens get 503; afterwards they are accepted',
    run: async (stage) => {
      const { cloud } = stage;
      const token = await logIn(cloud.plan, other);
      const api = restClient(acceleratorUrl(stage.layout), { 'X-Auth-Token': token });
      await cloud.processes.kill('keystone');
      const away = await api.try('GET', list);
      assert.equal(away.status, 503);
      assert.ok(away.headers.get('Retry-After'));
      await startKeystone(cloud);
      await eventually(
        () => api.try('GET', list),
        ({ status }) => status === 200,
      );
      return JSON.parse(away.body.error_message).faultstring;
    },
  },
  {
    name: 'Nova shows servers and their owners to our service user, and not to other projects',
    run: async (stage) => {
      const { nova: ours } = ownClients(stage);
      const { body } = await stage.admin.keystone.ask('GET', '/projects?name=demo');
      const { servers } = (await stage.demo.nova.ask('GET', '/servers')).body;
      assert.deepEqual(servers, []);
      const gone = await ours.server('00000000-0000-4000-8000-000000000000');
      assert.equal(gone, 'not-found');
      const id = await create(stage, 'fpga');
      const owner = await ours.server(id);
      assert.ok(owner !== 'not-found');
      assert.equal(owner.projectId, body.projects[0].id);
      const minutesAgo = (Date.now() - Date.parse(owner.updatedAt ?? '')) / 60_000;
      assert.ok(Math.abs(minutesAgo) < 1, `its last change is of ${owner.updatedAt}`);
      const some = await ours.someServers();
      assert.ok(some.some(({ projectId }) => projectId === body.projects[0].id));
      const { password } = stage.cloud.plan;
      const theirs = ownClients(stage, { username: 'other', projectName: 'other', password });
      assert.equal(await theirs.nova.server(id), 'not-found');
      await assert.rejects(theirs.nova.someServers(), /compute answered 403/);
      // A server that is deleted during its build keeps its units for a minute.
      await untilBuilt(stage, id, 300);
      await removeCleanly(stage, id);
      return `its last change: ${owner.updatedAt}`;
    },
  },
];
