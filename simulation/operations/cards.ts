// A card that a technician moves from the first host to the second, and one that loses functions.

import { present } from '#core/shapes/derive/present.ts';
import {
  type Act,
  asAdmin,
  boot,
  deleteFirst,
  deleteLast,
  inTurn,
} from '#simulation/world/acts.ts';
import type { Card } from '#simulation/world/drivers/card-driver.ts';
import type { Profile } from '#simulation/world/openstack/nova.ts';
import type { World } from '#simulation/world/world.ts';
import type { Operation } from './operations.ts';

const minuteMs = 60_000;
const profile: Profile = {
  name: 'card',
  groups: [{ 'resources:CUSTOM_CARD': '1', 'trait:CUSTOM_SIM_CARD': 'required' }],
};

const bootCard: Act = (world) => world.nova.boot(profile);

/** Plugs the card into the first host, and boots a server with it. */
const useCard =
  (card: Card = {}): Act =>
  (world) => {
    insert(world, 0, { ...card });
    void asAdmin(world, 'POST', '/device_profiles', [profile]);
    inTurn(() => {}, 20_000, bootCard)(world);
  };

const [firstCard, otherCard] = [1, 2].map((number) => ({
  identity: `card-${number}`,
  product: `0x000${number}`,
  card: {
    identity: `144d:000${number} 010802 144d:0001`,
    since: `2026-01-0${number}T00:00:00.000Z`,
  },
}));

/** The host boots with a new disk, and with another card in the slot. */
const replaceAll: Act = ({ hosts }) => {
  for (const host of hosts) {
    host.hardware.card = { isUnconfirmed: true, ...present({ reported: otherCard }) };
    host.hardware.isDiskReplaced = true;
    host.reboot(2000);
  }
};

/** The operator of the host confirms the other card. */
const confirmCard: Act = (world) => {
  if (!otherCard) return;
  const card = { ...otherCard.card, confirmed_at: '2026-01-03T00:00:00.000Z' };
  insert(world, 0, { reported: { ...otherCard, card } });
};

/** The first host goes on without the card. */
const removeCard: Act = ({ hosts }) => {
  const [from] = hosts;
  if (!from) return;
  delete from.hardware.card;
  from.killAgent();
};

/** The first host loses its power for a while; it does not report that the card is gone. */
const powerOff =
  (milliseconds: number): Act =>
  ({ hosts }) => {
    const [from] = hosts;
    if (!from) return;
    delete from.hardware.card;
    from.reboot(milliseconds);
  };

/** What the first server left is on the card. */
const insertElsewhere: Act = (world) => {
  const [server] = world.nova.servers;
  insert(world, 1, { usedBy: server?.uuid });
};

function insert({ hosts }: World, index: number, card: Card): void {
  const host = hosts[index];
  if (!host) throw new Error('The world has too few hosts for a card that moves.');
  host.hardware.card = card;
  host.killAgent();
}

/** Boots a server with the card again and again, and deletes each: one gets it in the end. */
const bootCards =
  (times: readonly number[]): Act =>
  (world) => {
    for (const minutes of times) {
      world.timeline.at(world.timeline.now() + minutes * minuteMs, () => void bootCard(world));
    }
  };

const takeFunction: Act = ({ hosts }) => {
  for (const { hardware } of hosts) hardware.nic.more = -1;
};

export const cardOperations: Readonly<Record<string, Operation>> = {
  'move a card that was not cleaned': {
    about: ['card'],
    hostCount: 2,
    prepare: inTurn(useCard(), minuteMs, inTurn(removeCard, 10_000, deleteLast)),
    prepareMs: 2 * minuteMs,
    act: inTurn(insertElsewhere, 0, bootCards([0.2, 2, 16, 32])),
    quiescenceMs: 50 * minuteMs,
  },
  'move a card that a server holds': {
    about: ['card'],
    hostCount: 2,
    prepare: inTurn(useCard(), minuteMs, powerOff(40 * minuteMs)),
    prepareMs: 2 * minuteMs,
    act: inTurn(inTurn(insertElsewhere, 0, bootCards([0.5, 2, 17, 33])), 4 * minuteMs, deleteFirst),
    quiescenceMs: 60 * minuteMs,
  },
  'take a function of a NIC from its server': {
    about: ['NIC', 'host'],
    prepare: boot('nic2'),
    act: takeFunction,
  },
  'replace a card and the disk of its host': {
    about: ['card'],
    hostCount: 1,
    prepare: inTurn(useCard(present({ reported: firstCard })), minuteMs, deleteLast),
    prepareMs: 2 * minuteMs,
    // After the report of the boot: a bind before it takes what was offered.
    act: inTurn(inTurn(replaceAll, 0, bootCards([9, 12, 26, 38])), 14 * minuteMs, confirmCard),
    quiescenceMs: 56 * minuteMs,
  },
};
