// Servers that Nova deletes without their ARQs, and servers that only seem to be deleted.

import {
  boot,
  deleteDuringBuild,
  forget,
  inTurn,
  isOpenStackEmpty,
} from '#simulation/world/acts.ts';
import type { Operation } from './operations.ts';

export const neverBuiltOperations: Readonly<Record<string, Operation>> = {
  'Nova loses an instance': {
    about: ['GPU', 'instance'],
    prepare: boot('vgpu'),
    act: forget,
  },
  'delete a server during its build': {
    about: ['NIC', 'instance'],
    act: inTurn(boot('nic2'), 30, deleteDuringBuild),
  },
  'delete a server with a vGPU during its build': {
    about: ['GPU', 'instance'],
    act: inTurn(boot('vgpu'), 30, deleteDuringBuild),
  },
  'Nova and Placement find a server 50 seconds after its bind': {
    about: ['NIC', 'instance'],
    act: inTurn(
      inTurn(boot('nic2'), 2000, isOpenStackEmpty(true)),
      50_000,
      isOpenStackEmpty(false),
    ),
  },
  'Nova and Placement find a server before the second look at it': {
    about: ['NIC', 'instance'],
    prepare: inTurn(boot('nic2'), 2000, isOpenStackEmpty(true)),
    prepareMs: 50_000,
    act: isOpenStackEmpty(false),
  },
};
