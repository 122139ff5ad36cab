// SPDX-License-Identifier: GPL-2.0
/*
 * fake_dfl: an FPGA card for the kernel's own DFL drivers.
 *
 *   modprobe fake_pci devs=8086:0b30:120000:1 window=0x3c000000
 *   modprobe fake_dfl pci=0001:00:00.0
 *   modprobe -a dfl-fme dfl-afu dfl-fme-mgr dfl-fme-br dfl-fme-region dfl-pci
 *
 * It writes a Device Feature List into the RAM behind BAR 0 of the function:
 * a management engine with partial reconfiguration, and one port with an
 * accelerator function. A timer then does what the card would do with the
 * registers. The data register is plain RAM, so of the image's bytes only the
 * last word is left: it is in the function's uuid afterwards,
 * 11112222-3333-4444-aaaa-bbbbNNNNNNNN.
 *
 * While `fail` is set, each reconfiguration ends with a CRC error. A value that
 * is written to `errors` becomes the errors of the port, until a reset of the
 * port, which the kernel does while it clears them.
 * https://docs.kernel.org/fpga/dfl.html
 */
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/pci.h>

#define MANAGEMENT	0x0000
#define RECONFIGURE	0x1000
#define ERRORS_ALL	0x2000
#define PORT		0x4000
#define PORT_ERRORS	0x5000
#define FUNCTION	0x8000ull	/* from the port */
#define FUNCTION_KB	16ull

#define TYPE_FUNCTION	1ull
#define TYPE_PRIVATE	3ull
#define TYPE_UNIT	4ull
#define LAST		BIT_ULL(40)

#define CONTROL		(RECONFIGURE + 0x08)
#define STATUS		(RECONFIGURE + 0x10)
#define DATA		(RECONFIGURE + 0x18)
#define ERRORS		(RECONFIGURE + 0x20)
#define PORT_CONTROL	(PORT + 0x38)

#define RESET		BIT_ULL(0)	/* in both control registers */
#define RESET_DONE	BIT_ULL(4)
#define START		BIT_ULL(12)
#define COMPLETE	BIT_ULL(13)
#define FAILED		BIT_ULL(16)
#define CREDIT		256ull
#define CRC_ERROR	BIT_ULL(1)

#define PERIOD		ns_to_ktime(200 * NSEC_PER_USEC)

static char *pci;
module_param(pci, charp, 0444);
static bool fail;
module_param(fail, bool, 0644);
static ulong errors;
module_param(errors, ulong, 0644);

static struct pci_dev *card;
static void __iomem *bar;
static struct hrtimer timer;

static void put(u64 value, int at)
{
	writeq(value, bar + at);
}

static void put_header(int at, u64 type, u64 id, u64 next)
{
	put(type << 60 | next << 16 | id | (next ? 0 : LAST), at);
}

static void put_uuid(int at, u64 high, u64 low)
{
	put(low, at + 0x08);
	put(high, at + 0x10);
}

static void put_function(u64 word)
{
	put_uuid(PORT + FUNCTION, 0x1111222233334444ull, 0xaaaabbbb00000000ull | word);
}

static void write_list(void)
{
	memset_io(bar, 0, PORT + FUNCTION + 0x100);

	put_header(MANAGEMENT, TYPE_UNIT, 0, RECONFIGURE);
	put_uuid(MANAGEMENT, 0xfedcba9876543210ull, 0x0123456789abcdefull);
	put(1ull << 17 | 1, MANAGEMENT + 0x30);			/* one port */
	put(BIT_ULL(60) | PORT, MANAGEMENT + 0x38);		/* port 0 is in BAR 0 */
	put(0x2300011001030full, MANAGEMENT + 0x60);		/* bitstream_id */

	put_header(RECONFIGURE, TYPE_PRIVATE, 5, ERRORS_ALL - RECONFIGURE);
	put(CREDIT, STATUS);
	put(0x1122334455667788ull, RECONFIGURE + 0xa8);		/* compat_id, low half */
	put(0x99aabbccddeeff00ull, RECONFIGURE + 0xb0);

	put_header(ERRORS_ALL, TYPE_PRIVATE, 4, 0);

	put_header(PORT, TYPE_UNIT, 1, PORT_ERRORS - PORT);
	put_uuid(PORT, 1, 1);
	put(FUNCTION, PORT + 0x18);
	put(FUNCTION_KB << 8, PORT + 0x30);
	put(RESET | RESET_DONE, PORT_CONTROL);
	put_header(PORT_ERRORS, TYPE_PRIVATE, 0x10, 0);

	put(TYPE_FUNCTION << 60, PORT + FUNCTION);
	put_function(0xccccddddull);
}

static u64 follow_reset(int at)
{
	u64 now = readq(bar + at);
	u64 next = now & RESET ? now | RESET_DONE : now & ~RESET_DONE;

	if (next != now)
		put(next, at);
	return next;
}

static enum hrtimer_restart act(struct hrtimer *t)
{
	u64 control = follow_reset(CONTROL);
	u64 before = readq(bar + PORT_CONTROL);

	if (!(follow_reset(PORT_CONTROL) & RESET_DONE) && before & RESET_DONE)
		put(0, PORT_ERRORS + 0x10);
	if (errors) {
		put(errors, PORT_ERRORS + 0x10);
		errors = 0;
	}
	if (control & RESET) {
		put(CREDIT, STATUS);
		put(0, ERRORS);
	} else if (control & START && control & COMPLETE) {
		if (fail) {
			put(CRC_ERROR, ERRORS);
			put(CREDIT | FAILED, STATUS);
		} else {
			put_function(readq(bar + DATA) & U32_MAX);
		}
		put(control & ~(START | COMPLETE), CONTROL);
	}
	hrtimer_forward_now(t, PERIOD);
	return HRTIMER_RESTART;
}

static int __init fake_dfl_init(void)
{
	unsigned int domain, bus, slot, function;

	if (!pci || sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
		return -EINVAL;
	card = pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(slot, function));
	if (!card)
		return -ENODEV;
	bar = ioremap(pci_resource_start(card, 0), pci_resource_len(card, 0));
	if (!bar) {
		pci_dev_put(card);
		return -ENOMEM;
	}
	write_list();
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer.function = act;
	hrtimer_start(&timer, PERIOD, HRTIMER_MODE_REL);
	return 0;
}

static void __exit fake_dfl_exit(void)
{
	hrtimer_cancel(&timer);
	iounmap(bar);
	pci_dev_put(card);
}

module_init(fake_dfl_init);
module_exit(fake_dfl_exit);
MODULE_DESCRIPTION("Device Feature List in RAM, for tests");
MODULE_LICENSE("GPL");
