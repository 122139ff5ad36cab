// Who may call which route, written out and not computed from the table under test.

/** The roles whose rights differ by project, in the order of the columns below. */
export const roles = ['reader', 'member', 'manager', 'admin', 'service'] as const;
export type Role = (typeof roles)[number];

// Own project, then another one. y: shown, or done. -: hidden. n: the policy refuses it.
// s: it asks for a service token. h: the answer shows hardware and profiles, and nothing of any
// project.
export const authorization: Readonly<Record<string, string>> = {
  //                                          reader … service
  'GET /v2/device_profiles': 'hh hh hh hh hh',
  'POST /v2/device_profiles': 'nn nn nn hh nn',
  'DELETE /v2/device_profiles': 'nn nn nn hh nn',
  'GET /v2/device_profiles/{id}': 'hh hh hh hh hh',
  'DELETE /v2/device_profiles/{id}': 'nn nn nn hh nn',
  'GET /v2/accelerator_requests': 'y- y- y- yy y-',
  // An ARQ is made in the project of the token, whatever exists.
  'POST /v2/accelerator_requests': 'nn yy yy yy yy',
  'PATCH /v2/accelerator_requests': 'nn ss ss ss ss',
  'DELETE /v2/accelerator_requests': 'nn y- y- yy y-',
  'GET /v2/accelerator_requests/{id}': 'y- y- y- yy y-',
  'PATCH /v2/accelerator_requests/{id}': 'nn ss ss ss ss',
  'DELETE /v2/accelerator_requests/{id}': 'nn y- y- yy y-',
  'GET /v2/devices': 'nn nn hh hh nn',
  'GET /v2/devices/{id}': 'nn nn hh hh nn',
  'PATCH /v2/devices/{id}': 'nn nn nn hh nn',
  'POST /v2/devices/{id}/enable': 'nn nn nn hh nn',
  'POST /v2/devices/{id}/disable': 'nn nn nn hh nn',
  'POST /v2/devices/{id}/force_release': 'nn nn nn hh nn',
  'GET /v2/deployables': 'nn nn hh hh nn',
  'GET /v2/deployables/{id}': 'nn nn hh hh nn',
  'PATCH /v2/deployables/{id}': 'nn nn nn hh nn',
  'PATCH /v2/deployables/{id}/program': 'nn nn nn hh nn',
  'PATCH /v2/deployables/{id}/program/{id}': 'nn nn nn hh nn',
  'GET /v2/attributes': 'nn nn hh hh nn',
  'POST /v2/attributes': 'nn nn nn hh nn',
  'GET /v2/attributes/{id}': 'nn nn hh hh nn',
  'DELETE /v2/attributes/{id}': 'nn nn nn hh nn',
  'GET /operator/v1/history': 'y- y- y- yy y-',
  'GET /operator/v1/usage': 'y- y- y- yy y-',
  'GET /operator/v1/aggregates': 'nn nn nn hh nn',
  'GET /operator/v1/binds': 'nn nn nn hh nn',
  'GET /operator/v1/metrics': 'nn nn nn yy nn',
  'GET /operator/v1/report': 'nn nn nn yy nn',
  'GET /operator/v1/hosts': 'nn nn nn hh nn',
  'GET /operator/v1/hosts/{id}': 'nn nn nn hh nn',
  'DELETE /operator/v1/hosts/{id}': 'nn nn nn hh nn',
  'GET /operator/v1/hosts/{id}/topology': 'nn nn nn hh nn',
  'POST /operator/v1/hosts/{id}/rediscover': 'nn nn nn hh nn',
  'POST /operator/v1/hosts/{id}/drain': 'nn nn nn hh nn',
  'POST /operator/v1/hosts/{id}/resume': 'nn nn nn hh nn',
  'POST /operator/v1/hosts/{id}/settle': 'nn nn nn hh nn',
  'GET /operator/v1/assignments': 'y- y- y- yy y-',
  'GET /operator/v1/capacity': 'hh hh hh hh hh',
  'GET /operator/v1/names': 'hh hh hh hh hh',
  'GET /operator/v1/incidents': 'nn nn nn hh nn',
  'POST /operator/v1/reconcile': 'nn nn nn hh nn',
  'POST /operator/v1/reap': 'nn nn nn hh nn',
  'POST /operator/v1/devices/{id}/grant': 'nn nn nn hh nn',
  'POST /operator/v1/devices/{id}/reset': 'nn nn nn hh nn',
  'POST /operator/v1/devices/{id}/revoke': 'nn nn nn hh nn',
  'GET /operator/v1/holds': 'nn nn nn hh nn',
  'POST /operator/v1/holds': 'nn nn nn hh nn',
  'GET /operator/v1/holds/{id}': 'nn nn nn hh nn',
  'DELETE /operator/v1/holds/{id}': 'nn nn nn hh nn',
  'GET /operator/v1/firmware': 'nn nn nn hh nn',
  'GET /operator/v1/firmware/images/{id}': 'nn nn nn hh nn',
  'GET /operator/v1/firmware/baselines': 'nn nn nn hh nn',
  'PUT /operator/v1/firmware/baselines/{id}': 'nn nn nn hh nn',
  'DELETE /operator/v1/firmware/baselines/{id}': 'nn nn nn hh nn',
  'GET /operator/v1/device_profiles': 'nn nn nn hh nn',
  'GET /operator/v1/device_profiles/{id}': 'nn nn nn hh nn',
  'PUT /operator/v1/device_profiles/{id}': 'nn nn nn hh nn',
  'POST /operator/v1/device_profiles/{id}/enable': 'nn nn nn hh nn',
  'POST /operator/v1/device_profiles/{id}/disable': 'nn nn nn hh nn',
  'GET /operator/v1/quotas': 'nn nn nn yy nn',
  'GET /operator/v1/quotas/{id}': 'yn yn yn yy yn',
  'PUT /operator/v1/quotas/{id}': 'nn nn nn yy nn',
  'DELETE /operator/v1/quotas/{id}': 'nn nn nn yy nn',
};

/** What the role may do in its own project and in another one. */
export function rightsOf(route: string, role: Role): { own: string; other: string } {
  const [own = '', other = ''] = authorization[route]?.split(' ')[roles.indexOf(role)] ?? '';
  return { own, other };
}
