"""Which addresses are on the public Internet."""

from __future__ import annotations

import ipaddress

# What `ipaddress` calls global, or may, and is not for us: IPv4 in IPv6 clothes leads wherever the IPv4 address does.
NOT_PUBLIC = tuple(
    ipaddress.ip_network(each)
    for each in (
        "::/96",  # IPv4-compatible (RFC 4291, 2.5.5.1)
        "64:ff9b::/96",  # NAT64 (RFC 6052)
        "64:ff9b:1::/48",  # its local-use prefix (RFC 8215)
        "2001::/23",  # Teredo and other protocols' own (RFC 2928)
        "2002::/16",  # 6to4 (RFC 3056)
        "3fff::/20",  # documentation (RFC 9637)
        "5f00::/16",  # segment routing (RFC 9602)
        "fec0::/10",  # site-local of old (RFC 3879)
        "192.0.0.0/24",  # protocols' own (RFC 6890)
        "192.88.99.0/24",  # 6to4 relays (RFC 7526)
    )
)
ISATAP = frozenset({0x00005EFE, 0x02005EFE})  # the interface identifier of an IPv4 address (RFC 5214, 6.1)


def is_public(address: str) -> bool:
    """Whether a peer's address is on the public Internet, IPv4 inside IPv6 forms included.

    Not: loopback, private and link-local networks, multicast, reserved and documentation ranges, shared address space
    (100.64.0.0/10), and so the metadata services of clouds (169.254.169.254, fd00:ec2::254, 100.100.100.200).
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped:
            ip = ip.ipv4_mapped
        elif (int(ip) >> 32) & 0xFFFFFFFF in ISATAP:
            return False
    if not ip.is_global or ip.is_multicast or ip.is_reserved:
        return False
    return not any(ip.version == network.version and ip in network for network in NOT_PUBLIC)
