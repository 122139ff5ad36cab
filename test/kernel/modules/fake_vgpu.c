// SPDX-License-Identifier: GPL-2.0
/*
 * fake_vgpu: a driver of cards that are divided, for functions of fake_pci.
 *
 *   modprobe fake_vgpu name=nvidia cards=10de:1eb8=pf,10de:2235=vf,10de:26b9=vendor types=557:1,558:2
 *
 * A card has `capacity` units, and each type, ID:UNITS, takes some of them.
 * How a card is divided:
 *
 * pf      mdevs whose parent is the physical function
 * vf      mdevs whose parent is a virtual function, one on each: NVIDIA's
 *         Ampere and later, up to vGPU 16
 * vendor  no mdevs: each virtual function has nvidia/creatable_vgpu_types and
 *         nvidia/current_vgpu_type: NVIDIA's from vGPU 17 on
 *
 * mixed=0      all instances of a card have the type of the first one
 * name_first=1 rows of the table have the type's name before its number, and
 *              the table has no header
 * delay_ms     what each creation and removal takes
 *
 * To a guest each mdev is a PCI UART: its device model is that of mtty, the
 * kernel's own sample, which is a file of the kernel's source.
 */
#include <linux/delay.h>
#include <linux/mdev.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/vfio.h>

/* All of mtty but its own start and end. */
#pragma push_macro("module_init")
#pragma push_macro("module_exit")
#undef module_init
#undef module_exit
#define module_init(start) static void *mtty_start __maybe_unused = start;
#define module_exit(end) static void *mtty_end __maybe_unused = end;
#include "mtty.c"
#pragma pop_macro("module_init")
#pragma pop_macro("module_exit")

#define CARDS	8
#define TYPES	8

enum division { DIVISION_PF = 1, DIVISION_VF, DIVISION_VENDOR };

static char *name = "nvidia";
module_param(name, charp, 0444);
static char *cards[CARDS];
static int cards_count;
module_param_array(cards, charp, &cards_count, 0444);
static char *types[TYPES] = { "557:1", "558:2" };
static int types_count = 2;
module_param_array(types, charp, &types_count, 0444);
static unsigned int capacity = 8;
module_param(capacity, uint, 0444);
static bool mixed = true;
module_param(mixed, bool, 0644);
static bool name_first;
module_param(name_first, bool, 0644);
static unsigned int delay_ms;
module_param(delay_ms, uint, 0644);

struct vgpu_type {
	struct mtty_type model;	/* where mtty looks for it */
	char label[16];
	char title[32];
	unsigned int number;
	unsigned int units;
};

struct host;

/* Of a physical function; its virtual functions share it. */
struct card {
	struct host *own;	/* if the physical function itself has instances */
	struct mutex lock;
	unsigned int used;
	unsigned int instances;
	unsigned int number;	/* the type of the first instance */
};

/* Of a function that has instances. */
struct host {
	struct vfio_device vfio;	/* first, as its allocation requires */
	struct mdev_parent parent;
	struct card *card;
	enum division division;
	unsigned int held;
	unsigned int current_type;
	unsigned int opened;
	struct vgpu_type type[TYPES];
	struct mdev_type *list[TYPES];
};

static struct card *card_of(struct pci_dev *pdev)
{
	return pci_get_drvdata(pci_physfn(pdev));
}

static struct host *host_of(struct mdev_type *type)
{
	return container_of(type->parent, struct host, parent);
}

static struct vgpu_type *own(struct mdev_type *type)
{
	return container_of(type, struct vgpu_type, model.type);
}

static struct vgpu_type *type_numbered(struct host *h, unsigned int number)
{
	int i;

	for (i = 0; i < types_count; i++)
		if (h->type[i].number == number)
			return &h->type[i];
	return NULL;
}

/* How many more instances of the type the function can have. */
static unsigned int room(struct host *h, struct vgpu_type *t)
{
	unsigned int left = (capacity - h->card->used) / t->units;

	if (!mixed && h->card->instances && h->card->number != t->number)
		return 0;
	if (h->division == DIVISION_PF)
		return left;
	return h->held ? 0 : min(left, 1u);
}

static void take(struct host *h, struct vgpu_type *t)
{
	h->held++;
	if (!h->card->instances++)
		h->card->number = t->number;
	h->card->used += t->units;
}

static void give_back(struct host *h, struct vgpu_type *t)
{
	h->held--;
	h->card->instances--;
	h->card->used -= t->units;
}

static int mdev_take(struct mdev_device *mdev)
{
	struct host *h = host_of(mdev->type);
	int err = 0;

	msleep(delay_ms);
	mutex_lock(&h->card->lock);
	if (room(h, own(mdev->type)))
		take(h, own(mdev->type));
	else
		err = -ENOSPC;
	mutex_unlock(&h->card->lock);
	return err;
}

static void mdev_give_back(struct mdev_device *mdev)
{
	struct host *h = host_of(mdev->type);

	mutex_lock(&h->card->lock);
	give_back(h, own(mdev->type));
	mutex_unlock(&h->card->lock);
}

/* As a VFIO device, the mdev gets its IOMMU group and /dev/vfio/N. */
static int mdev_start(struct mdev_device *mdev)
{
	int err = mdev_take(mdev);

	if (err)
		return err;
	err = mtty_probe(mdev);
	if (err)
		mdev_give_back(mdev);
	return err;
}

/* Waits until no program has the device open. */
static void mdev_end(struct mdev_device *mdev)
{
	msleep(delay_ms);
	mtty_remove(mdev);
	mdev_give_back(mdev);
}

static unsigned int mdev_room(struct mdev_type *type)
{
	struct host *h = host_of(type);
	unsigned int left;

	mutex_lock(&h->card->lock);
	left = room(h, own(type));
	mutex_unlock(&h->card->lock);
	return left;
}

static ssize_t mdev_description(struct mdev_type *type, char *buf)
{
	return sysfs_emit(buf, "num_heads=4, framebuffer=%uM, max_instance=%u\n",
			  own(type)->units * 1024, capacity / own(type)->units);
}

static struct mdev_driver mdevs = {
	.device_api = VFIO_DEVICE_API_PCI_STRING,
	.probe = mdev_start,
	.remove = mdev_end,
	.get_available = mdev_room,
	.show_description = mdev_description,
	.driver = {
		.name = "fake_vgpu_mdev",
		.owner = THIS_MODULE,
		.mod_name = KBUILD_MODNAME,
	},
};

static ssize_t creatable_vgpu_types_show(struct device *dev, struct device_attribute *a, char *buf)
{
	struct host *h = dev_get_drvdata(dev);
	ssize_t n = name_first ? 0 : sysfs_emit(buf, "ID    : vGPU Name\n");
	int i;

	mutex_lock(&h->card->lock);
	for (i = 0; i < types_count; i++) {
		struct vgpu_type *t = &h->type[i];

		if (!room(h, t))
			continue;
		if (name_first)
			n += sysfs_emit_at(buf, n, "%s   %u\n", t->title, t->number);
		else
			n += sysfs_emit_at(buf, n, "%-5u : %s\n", t->number, t->title);
	}
	mutex_unlock(&h->card->lock);
	return n;
}
static DEVICE_ATTR_RO(creatable_vgpu_types);

static ssize_t current_vgpu_type_show(struct device *dev, struct device_attribute *a, char *buf)
{
	struct host *h = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", h->current_type);
}

static ssize_t current_vgpu_type_store(struct device *dev, struct device_attribute *a,
				       const char *buf, size_t n)
{
	struct host *h = dev_get_drvdata(dev);
	struct vgpu_type *t;
	unsigned int number;
	int err = kstrtouint(buf, 10, &number);

	if (err)
		return -EINVAL;
	msleep(delay_ms);
	mutex_lock(&h->card->lock);
	t = type_numbered(h, number ?: h->current_type);
	if (h->opened) {
		err = -EBUSY;
	} else if (number) {
		/* Only what the table shows; the driver tells no reason. */
		if (!t || !room(h, t)) {
			err = -EINVAL;
		} else {
			take(h, t);
			h->current_type = number;
		}
	} else if (t) {
		give_back(h, t);
		h->current_type = 0;
	}
	mutex_unlock(&h->card->lock);
	return err ?: n;
}
static DEVICE_ATTR_RW(current_vgpu_type);

static struct attribute *vendor_attributes[] = {
	&dev_attr_creatable_vgpu_types.attr,
	&dev_attr_current_vgpu_type.attr,
	NULL
};

static const struct attribute_group vendor_group = {
	.name = "nvidia",
	.attrs = vendor_attributes,
};

static int vendor_open(struct vfio_device *vfio)
{
	struct host *h = container_of(vfio, struct host, vfio);
	int err = 0;

	mutex_lock(&h->card->lock);
	if (h->current_type)
		h->opened++;
	else
		err = -ENODEV;
	mutex_unlock(&h->card->lock);
	return err;
}

static void vendor_close(struct vfio_device *vfio)
{
	struct host *h = container_of(vfio, struct host, vfio);

	mutex_lock(&h->card->lock);
	h->opened--;
	mutex_unlock(&h->card->lock);
}

static const struct vfio_device_ops vendor_ops = {
	.name = "fake_vgpu_vendor",
	.open_device = vendor_open,
	.close_device = vendor_close,
	.release = vfio_free_device,	/* Linux 6.1 calls it without a check. */
};

static int read_types(struct host *h)
{
	int i;

	for (i = 0; i < types_count; i++) {
		struct vgpu_type *t = &h->type[i];

		if (sscanf(types[i], "%u:%u", &t->number, &t->units) != 2 || !t->units)
			return -EINVAL;
		snprintf(t->label, sizeof(t->label), "%u", t->number);
		snprintf(t->title, sizeof(t->title), "NVIDIA FAKE-%uQ", t->units);
		t->model.nr_ports = 1;
		t->model.type.sysfs_name = t->label;
		t->model.type.pretty_name = t->title;
		h->list[i] = &t->model.type;
	}
	return 0;
}

static int start_host(struct pci_dev *pdev, struct host *h)
{
	int err;

	if (h->division != DIVISION_VENDOR)
		return mdev_register_parent(&h->parent, &pdev->dev, &mdevs, h->list, types_count);
	err = vfio_register_group_dev(&h->vfio);
	if (err)
		return err;
	err = device_add_group(&pdev->dev, &vendor_group);
	if (err)
		vfio_unregister_group_dev(&h->vfio);
	return err;
}

static struct host *add_host(struct pci_dev *pdev, enum division division)
{
	struct host *h = vfio_alloc_device(host, vfio, &pdev->dev, &vendor_ops);
	int err;

	if (IS_ERR(h))
		return h;
	h->card = card_of(pdev);
	h->division = division;
	if (pdev->is_virtfn)
		pci_set_drvdata(pdev, h);
	err = h->card ? read_types(h) : -ENODEV;
	if (!err)
		err = start_host(pdev, h);
	if (!err)
		return h;
	vfio_put_device(&h->vfio);
	return ERR_PTR(err);
}

static void remove_host(struct pci_dev *pdev, struct host *h)
{
	if (h->division == DIVISION_VENDOR) {
		device_remove_group(&pdev->dev, &vendor_group);
		vfio_unregister_group_dev(&h->vfio);
		mutex_lock(&h->card->lock);
		if (h->current_type)
			give_back(h, type_numbered(h, h->current_type));
		mutex_unlock(&h->card->lock);
	} else {
		mdev_unregister_parent(&h->parent);
	}
	vfio_put_device(&h->vfio);
}

static int start_card(struct pci_dev *pdev, enum division division)
{
	struct card *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int err;

	if (!c)
		return -ENOMEM;
	mutex_init(&c->lock);
	pci_set_drvdata(pdev, c);
	if (division != DIVISION_PF)
		return 0;
	c->own = add_host(pdev, division);
	err = PTR_ERR_OR_ZERO(c->own);
	if (err)
		kfree(c);
	return err;
}

static int probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	if (!pdev->is_virtfn)
		return start_card(pdev, id->driver_data);
	return id->driver_data == DIVISION_PF ? 0 :
	       PTR_ERR_OR_ZERO(add_host(pdev, id->driver_data));
}

static void end(struct pci_dev *pdev)
{
	struct card *c = pci_get_drvdata(pdev);

	if (pdev->is_virtfn) {
		if (pci_get_drvdata(pdev))
			remove_host(pdev, pci_get_drvdata(pdev));
		return;
	}
	pci_disable_sriov(pdev);
	if (c->own)
		remove_host(pdev, c->own);
	kfree(c);
}

static struct pci_driver driver = {
	.probe = probe,
	.remove = end,
	.sriov_configure = pci_sriov_configure_simple,
	/* Else the kernel's own use of the function keeps VFIO from it. */
	.driver_managed_dma = true,
};

static int add_card(const char *text)
{
	unsigned int vendor, device;
	enum division division;
	char word[8];

	if (sscanf(text, "%x:%x=%7s", &vendor, &device, word) != 3)
		return -EINVAL;
	if (!strcmp(word, "pf"))
		division = DIVISION_PF;
	else if (!strcmp(word, "vf"))
		division = DIVISION_VF;
	else if (!strcmp(word, "vendor"))
		division = DIVISION_VENDOR;
	else
		return -EINVAL;
	return pci_add_dynid(&driver, vendor, device, PCI_ANY_ID, PCI_ANY_ID, 0, 0, division);
}

static int __init fake_vgpu_init(void)
{
	int i, err = mdev_register_driver(&mdevs);

	/* The cards limit their number, not mtty. */
	atomic_set(&mdev_avail_ports, INT_MAX);
	if (err)
		return err;
	driver.name = name;
	err = pci_register_driver(&driver);
	if (err)
		goto no_driver;
	for (i = 0; !err && i < cards_count; i++)
		err = add_card(cards[i]);
	if (!err)
		return 0;
	pci_unregister_driver(&driver);
no_driver:
	mdev_unregister_driver(&mdevs);
	return err;
}

static void __exit fake_vgpu_exit(void)
{
	pci_unregister_driver(&driver);
	mdev_unregister_driver(&mdevs);
}

module_init(fake_vgpu_init);
module_exit(fake_vgpu_exit);
MODULE_DESCRIPTION("driver of cards that are divided, for tests");
MODULE_LICENSE("GPL");
